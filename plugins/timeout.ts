import * as v from "valibot";
import {
  type Call,
  definePlugin,
  type Gateway,
  GatewayError,
  type PluginFactory,
  type Tool,
} from "../core/mod.ts";
import { requestMeta } from "./guard/request-meta.ts";
import type {} from "./upstreams/mod.ts";

/** The options of {@link timeout}. */
export interface TimeoutOptions {
  /** How long a tool may take, in milliseconds; 30,000 by default. */
  readonly ms?: number;
  /** The same for all tools of one server, by its name; it goes before what the definition of the server says. */
  readonly servers?: Readonly<Record<string, number>>;
  /** The same for one tool, by its id (`server:tool`). */
  readonly tools?: Readonly<Record<string, number>>;
  /** Whether the time begins anew whenever the tool reports progress; true by default. */
  readonly extendOnProgress?: boolean;
  /**
   * What neither progress nor a caller's own wish (`toolpipe/timeout-ms`) goes beyond; 300,000 by default. A server
   * can report progress without end. Where a tool may take longer than this anyway, that is its limit.
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

/** Whoever executes calls can see here that it need not time them itself: a call that is late is cancelled. */
export interface Timeouts {
  /** What the options allow a tool, and what says so. */
  limitOf(call: Pick<Call, "tool" | "toolId">): TimeLimit;
  /** Stops the time of a call until what it returns is called: how long a person thinks is not the tool's doing. */
  pause(call: Call): () => void;
}

/** How long a tool may take. */
export interface TimeLimit {
  readonly ms: number;
  /** What to change to change it, such as `options.timeout.ms`. */
  readonly setting: string;
}

declare module "../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `timeout`. */
    timeouts?: Timeouts;
  }
}

/**
 * Ends a call whose tool takes too long with `TIMEOUT`. Only its execution counts, and not that its server had to
 * be found first. The gateway's own tools are not timed: what they wait for is another call, which is, and an
 * outer call must not end before the inner one may.
 */
export const timeout: PluginFactory<"timeout", TimeoutOptions, Required<TimeoutOptions>> = definePlugin({
  name: "timeout",
  options: options as v.GenericSchema<TimeoutOptions, Required<TimeoutOptions>>,
  setup(gateway, given) {
    const limitOf: Timeouts["limitOf"] = (call) => limitFrom(gateway, given, call);
    /** What is said of a tool does not change; another definition of it is another object. */
    const limits = new WeakMap<Tool, TimeLimit>();
    gateway.services.timeouts = {
      limitOf,
      pause: ({ notes }) => (notes[clockNote] as Clock | undefined)?.pause() ?? (() => {}),
    };
    return {
      execute(call, next) {
        const { tool } = call;
        if (!tool || tool.builtin) return next();
        let limit = limits.get(tool);
        if (!limit) {
          limit = limitOf(call);
          limits.set(tool, limit);
        }
        const clock = new Clock(call, limit, given);
        call.notes[clockNote] = clock;
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

/** Where the clock of a call is found. */
const clockNote = Symbol("toolpipe clock");

/** Cancels a call when its time is up. A class for speed: every call has one. */
class Clock {
  #call: Call | undefined;
  readonly #limit: TimeLimit;
  readonly #wish: TimeLimit | undefined;
  readonly #longest: number;
  #began: number = performance.now();
  #since: number = this.#began;
  #hasReported = false;
  #pauses = 0;
  #pausedAt = 0;
  #timer: ReturnType<typeof setTimeout>;

  constructor(call: Call, allowed: TimeLimit, { extendOnProgress, maxMs }: Required<TimeoutOptions>) {
    const most = Math.max(maxMs, allowed.ms);
    this.#call = call;
    this.#wish = wishOf(call, most);
    this.#limit = this.#wish ?? allowed;
    // A caller who says how long it may take means all of it.
    this.#longest = this.#wish?.ms ?? most;
    this.#timer = this.#checkIn(this.#limit.ms);
    if (!extendOnProgress) return;
    call.listen(() => {
      this.#since = performance.now();
      this.#hasReported = true;
    });
  }

  stop(): void {
    clearTimeout(this.#timer);
    this.#call = undefined;
  }

  pause(): () => void {
    let isOver = false;
    if (this.#pauses++ === 0) this.#pausedAt = performance.now();
    return () => {
      if (isOver) return;
      isOver = true;
      if (--this.#pauses > 0) return;
      const now = performance.now();
      this.#began += now - this.#pausedAt;
      this.#since = Math.min(now, this.#since + now - this.#pausedAt);
    };
  }

  #checkIn(ms: number): ReturnType<typeof setTimeout> {
    return setTimeout(() => this.#check(), ms);
  }

  /** A tool may report much, so progress only leaves a mark, and the timer looks for it when it is due. */
  #check(): void {
    if (this.#pauses > 0) {
      this.#timer = this.#checkIn(this.#limit.ms);
      return;
    }
    const [silentBy, overBy] = [this.#since + this.#limit.ms, this.#began + this.#longest];
    const left = Math.ceil(Math.min(silentBy, overBy) - performance.now());
    if (left > 0) this.#timer = this.#checkIn(left);
    else if (this.#call) this.#call.cancel(this.#late(this.#call, overBy < silentBy));
  }

  #late(call: Call, isOver: boolean): GatewayError {
    if (this.#wish) return late(call, this.#wish);
    if (isOver) return late(call, { ms: this.#longest, setting: MAX }, true);
    return late(call, this.#limit, this.#hasReported);
  }
}

const MAX = "options.timeout.maxMs";
const WISH = `the caller's own, "${requestMeta.timeoutMs}"`;

/** How long the caller would have it take, shorter or longer than the options say: as far as they let anything go. */
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

function limitFrom(
  { services }: Gateway,
  given: Required<TimeoutOptions>,
  { tool, toolId }: Pick<Call, "tool" | "toolId">,
): TimeLimit {
  const [id, server] = [tool?.id ?? toolId, tool?.server ?? ""];
  if (Object.hasOwn(given.tools, id)) {
    return { ms: Number(given.tools[id]), setting: `options.timeout.tools["${id}"]` };
  }
  if (Object.hasOwn(given.servers, server)) {
    return { ms: Number(given.servers[server]), setting: `options.timeout.servers["${server}"]` };
  }
  const defined = services.upstreams?.status(server)?.config.callTimeoutMs;
  if (defined !== undefined) {
    return { ms: defined, setting: `callTimeoutMs in the definition of the server "${server}"` };
  }
  return { ms: given.ms, setting: "options.timeout.ms" };
}
