import * as v from "valibot";
import {
  type Call,
  definePlugin,
  type ErrorKind,
  errorKinds,
  type Gateway,
  GatewayError,
  type Tool,
} from "../core/mod.ts";
import { requestMeta } from "../core/services/policy.ts";
import { milliseconds, nameOption, option } from "./lib/options.ts";
import { inferPolicy } from "./lib/risk.ts";

const ms = milliseconds(1);
const options = v.strictObject({
  ms: option(ms, "The limit for every tool in milliseconds.", 30_000),
  servers: option(
    v.record(v.string(), ms),
    "Limits by server in milliseconds. They go before `callTimeoutMs` in the definition of the server.",
    {},
  ),
  tools: option(
    v.record(v.pipe(v.string(), v.includes(":", "the id of a tool, as server:tool")), ms),
    "Limits by tool id (`server:tool`) in milliseconds.",
    {},
  ),
  extendOnProgress: option(v.boolean(), "Whether progress restarts the time.", true),
  maxMs: option(
    ms,
    "The limit in milliseconds that neither progress nor the caller (`toolpipe/timeout-ms`) can exceed: a server can report progress forever. A tool whose own limit is longer keeps that.",
    300_000,
  ),
});

/** Options of {@link timeout}. */
export type TimeoutOptions = v.InferInput<typeof options>;
type Settings = v.InferOutput<typeof options>;

/** The time limit of a tool. */
interface TimeLimit {
  readonly ms: number;
  /** The setting that it comes from, such as `options.timeout.ms`. */
  readonly setting: string;
}

/**
 * Ends a call whose tool takes too long with `TIMEOUT`. Only its execution counts, not the time to find its server or to
 * connect to it, which has a limit of its own (`startTimeoutMs`). The
 * gateway's own tools are not timed: they wait for an inner call, which is, and an outer call must not end before the
 * inner one may.
 */
export const timeout = definePlugin({
  name: "timeout",
  uses: ["servers?"],
  options,
  setup(gateway, settings) {
    /** By tool object: a changed definition is another object. */
    const limits = new WeakMap<Tool, TimeLimit>();
    return {
      execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin) return next();
        let limit = limits.get(tool);
        if (!limit) {
          limit = findLimit(gateway, settings, tool);
          limits.set(tool, limit);
        }
        call.isTimed = true;
        const clock = new Clock(call, limit, settings, gateway);
        // What plugins around this one do afterwards is limited by core.
        const stop = (): void => {
          clock.stop();
          call.isTimed = false;
        };
        return next().then(stop, (thrown) => {
          stop();
          throw thrown;
        });
      },
    };
  },
});

/** Cancels a call that exceeds its limit. A class for speed: every call has one. */
class Clock {
  #call: Call | undefined;
  readonly #limit: TimeLimit;
  readonly #wish: TimeLimit | undefined;
  readonly #longest: number;
  readonly #gateway: Pick<Gateway, "configSection">;
  readonly #began: number;
  #since: number;
  #hasReported = false;
  #timer: ReturnType<typeof setTimeout>;

  constructor(
    call: Call,
    allowed: TimeLimit,
    { extendOnProgress, maxMs }: Settings,
    gateway: Pick<Gateway, "configSection">,
  ) {
    this.#gateway = gateway;
    const most = Math.max(maxMs, allowed.ms);
    this.#call = call;
    // On the clock of the call, which stands still while the call is paused.
    this.#began = call.activeMs;
    this.#since = this.#began;
    this.#wish = readWish(call, most);
    this.#limit = this.#wish ?? allowed;
    // The limit of a caller includes progress.
    this.#longest = this.#wish?.ms ?? most;
    this.#timer = this.#checkIn(this.#limit.ms);
    if (!extendOnProgress) return;
    call.listen(() => {
      this.#since = call.activeMs;
      this.#hasReported = true;
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#call = undefined;
  }

  #checkIn(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#check(), ms);
  }

  /** A tool may report progress often, so a report only sets a time, which is checked when the timer fires. */
  #check(): void {
    const call = this.#call;
    if (!call) return;
    if (call.isPaused) {
      this.#timer = this.#checkIn(this.#limit.ms);
      return;
    }
    const [silentBy, overBy] = [this.#since + this.#limit.ms, this.#began + this.#longest];
    const left = Math.ceil(Math.min(silentBy, overBy) - call.activeMs);
    if (left > 0) this.#timer = this.#checkIn(left);
    else call.cancel(this.#toError(call, overBy < silentBy));
  }

  #toError(call: Call, isOver: boolean): GatewayError {
    const gateway = this.#gateway;
    if (this.#wish) return timedOut(gateway, call, this.#wish);
    if (isOver) return timedOut(gateway, call, { ms: this.#longest, setting: MAX }, true);
    return timedOut(gateway, call, this.#limit, this.#hasReported);
  }
}

const MAX = "options.timeout.maxMs";
const WISH = `the caller's own, "${requestMeta.timeoutMs}"`;

/** The limit that the caller asks for, shorter or longer than the options, up to the maximum. */
function readWish({ meta }: Call, most: number): TimeLimit | undefined {
  const ms = meta[requestMeta.timeoutMs];
  if (typeof ms !== "number" || !(ms >= 1)) return undefined;
  return ms <= most ? { ms, setting: WISH } : { ms: most, setting: MAX };
}

/** A call that may have had its effect: making it again could have it twice. */
const MAYBE_DONE: ErrorKind = { ...errorKinds.TIMEOUT, retry: false };

function timedOut(
  gateway: Pick<Gateway, "configSection">,
  call: Call,
  { ms, setting: own }: TimeLimit,
  reported = false,
): GatewayError {
  const { toolId, tool, isSent } = call;
  const setting = own.startsWith("options.") ? nameOption(gateway, own) : own;
  const limit = `The limit is ${setting}.`;
  if (isSent === false) {
    const message = `"${toolId}" was not sent within ${ms} ms, because its server was busy with other calls, so it has had no effect. ${limit}`;
    return new GatewayError("TIMEOUT", message, { data: { ms, setting, sent: false, retryable: true } });
  }
  const what =
    own === MAX && reported
      ? `"${toolId}" was not done within ${ms} ms, though it reported progress.`
      : `"${toolId}" did not answer within ${ms} ms${reported ? " of its last progress" : ""}.`;
  const isHarmless = tool !== undefined && (tool.policy ?? inferPolicy(tool)).riskLevel === "low";
  if (isHarmless) return new GatewayError("TIMEOUT", `${what} ${limit}`, { data: { ms, setting } });
  const message = `${what} It may have been done all the same: check that before it is called again. ${limit}`;
  return new GatewayError(MAYBE_DONE, message, { data: { ms, setting, retryable: false } });
}

function findLimit({ services }: Gateway, settings: Settings, { id, server }: Tool): TimeLimit {
  if (Object.hasOwn(settings.tools, id)) {
    return { ms: Number(settings.tools[id]), setting: `options.timeout.tools["${id}"]` };
  }
  if (Object.hasOwn(settings.servers, server)) {
    return { ms: Number(settings.servers[server]), setting: `options.timeout.servers["${server}"]` };
  }
  const defined = services.servers?.status(server)?.config.callTimeoutMs;
  if (defined !== undefined) {
    return { ms: defined, setting: `callTimeoutMs in the definition of the server "${server}"` };
  }
  return { ms: settings.ms, setting: "options.timeout.ms" };
}
