import * as v from "valibot";
import {
  type Call,
  definePlugin,
  type Gateway,
  GatewayError,
  type PluginFactory,
  type Tool,
} from "../core/mod.ts";
import { requestMeta } from "../core/services/policy.ts";

/** Options of {@link timeout}. */
export interface TimeoutOptions {
  /** The limit for every tool in milliseconds; 30,000 by default. */
  readonly ms?: number;
  /** Limits by server; they go before `callTimeoutMs` in the definition of the server. */
  readonly servers?: Readonly<Record<string, number>>;
  /** Limits by tool id (`server:tool`). */
  readonly tools?: Readonly<Record<string, number>>;
  /** Whether progress restarts the time; true by default. */
  readonly extendOnProgress?: boolean;
  /**
   * The limit that neither progress nor the caller (`toolpipe/timeout-ms`) can exceed; 300,000 by default: a server can
   * report progress forever. A tool whose own limit is longer keeps that.
   */
  readonly maxMs?: number;
}

const ms = v.pipe(
  v.number(),
  v.minValue(1, "a number of milliseconds, 1 or more"),
  v.maxValue(2 ** 31 - 1, "a number of milliseconds that a timer can hold"),
);
const options = v.strictObject({
  ms: v.optional(ms, 30_000),
  servers: v.optional(v.record(v.string(), ms), {}),
  tools: v.optional(
    v.record(v.pipe(v.string(), v.includes(":", "the id of a tool, as server:tool")), ms),
    {},
  ),
  extendOnProgress: v.optional(v.boolean(), true),
  maxMs: v.optional(ms, 300_000),
});

/** The time limit of a tool. */
export interface TimeLimit {
  readonly ms: number;
  /** The setting that it comes from, such as `options.timeout.ms`. */
  readonly setting: string;
}

/**
 * Ends a call whose tool takes too long with `TIMEOUT`. Only its execution counts, and not that its server had to
 * be found first. The gateway's own tools are not timed: they wait for an inner call, which is, and an
 * outer call must not end before the inner one may.
 */
export const timeout: PluginFactory<"timeout", TimeoutOptions, Required<TimeoutOptions>> = definePlugin({
  name: "timeout",
  uses: ["servers?"],
  options: options as v.GenericSchema<TimeoutOptions, Required<TimeoutOptions>>,
  setup(gateway, given) {
    /** By tool object: a changed definition is another object. */
    const limits = new WeakMap<Tool, TimeLimit>();
    return {
      execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin) return next();
        let limit = limits.get(tool);
        if (!limit) {
          limit = limitFrom(gateway, given, tool);
          limits.set(tool, limit);
        }
        call.isTimed = true;
        const clock = new Clock(call, limit, given);
        return next().then(
          () => clock.stop(),
          (thrown) => {
            clock.stop();
            throw thrown;
          },
        );
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
  readonly #began: number;
  #since: number;
  #hasReported = false;
  #timer: ReturnType<typeof setTimeout>;

  constructor(call: Call, allowed: TimeLimit, { extendOnProgress, maxMs }: Required<TimeoutOptions>) {
    const most = Math.max(maxMs, allowed.ms);
    this.#call = call;
    // On the clock of the call, which stands still while the call is paused.
    this.#began = call.activeMs;
    this.#since = this.#began;
    this.#wish = wishOf(call, most);
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

  /** A tool may report progress often, so that only sets a time, which is checked when the timer fires. */
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
    else call.cancel(this.#late(call, overBy < silentBy));
  }

  #late(call: Call, isOver: boolean): GatewayError {
    if (this.#wish) return late(call, this.#wish);
    if (isOver) return late(call, { ms: this.#longest, setting: MAX }, true);
    return late(call, this.#limit, this.#hasReported);
  }
}

const MAX = "options.timeout.maxMs";
const WISH = `the caller's own, "${requestMeta.timeoutMs}"`;

/** The limit that the caller asks for, shorter or longer than the options, up to the maximum. */
function wishOf({ meta }: Call, most: number): TimeLimit | undefined {
  const ms = meta[requestMeta.timeoutMs];
  if (typeof ms !== "number" || !(ms >= 1)) return undefined;
  return ms <= most ? { ms, setting: WISH } : { ms: most, setting: MAX };
}

function late({ toolId }: Call, { ms, setting }: TimeLimit, reported = false): GatewayError {
  const what =
    setting === MAX && reported
      ? `"${toolId}" was not done within ${ms} ms, though it reported progress.`
      : `"${toolId}" did not answer within ${ms} ms${reported ? " of its last progress" : ""}.`;
  return new GatewayError("TIMEOUT", `${what} The limit is ${setting}.`, { data: { ms, setting } });
}

function limitFrom({ services }: Gateway, given: Required<TimeoutOptions>, { id, server }: Tool): TimeLimit {
  if (Object.hasOwn(given.tools, id)) {
    return { ms: Number(given.tools[id]), setting: `options.timeout.tools["${id}"]` };
  }
  if (Object.hasOwn(given.servers, server)) {
    return { ms: Number(given.servers[server]), setting: `options.timeout.servers["${server}"]` };
  }
  const defined = services.servers?.status(server)?.config.callTimeoutMs;
  if (defined !== undefined) {
    return { ms: defined, setting: `callTimeoutMs in the definition of the server "${server}"` };
  }
  return { ms: given.ms, setting: "options.timeout.ms" };
}
