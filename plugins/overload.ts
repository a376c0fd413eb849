import * as v from "valibot";
import {
  type Call,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  localUser,
  type Next,
  type PluginFactory,
} from "../core/mod.ts";

/** The gateway is overloaded. The call was not made. */
export const OVERLOADED: ErrorKind = defineError("OVERLOADED", { retry: true });

/** Options of {@link overload}. */
export interface OverloadOptions {
  /** Calls at once; 256 by default. */
  readonly maxConcurrent?: number;
  /** Calls in the queue; 1,024 by default. More are refused. */
  readonly maxWaiting?: number;
  /** Calls of one actor in the queue; 128 by default, so that there is room for others. */
  readonly maxWaitingEach?: number;
  /** Calls are refused while the event loop lags by more than this; 200 by default. */
  readonly maxLagMs?: number;
  /**
   * Whether calls of the user of this machine count too; they do not by default, since who is alone has nobody to make
   * way for.
   */
  readonly local?: boolean;
}

const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a number, 1 or more"));
const options = v.strictObject({
  maxConcurrent: v.optional(count, 256),
  maxWaiting: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0, "a number, 0 or more")), 1_024),
  maxWaitingEach: v.optional(count, 128),
  maxLagMs: v.optional(count, 200),
  local: v.optional(v.boolean(), false),
});

/** The longest time in `retry_after`. */
const MAX_RETRY_S = 30;
/** The interval at which the lag is measured. */
const INTERVAL_MS = 100;
/** The part of an earlier lag that counts in the next measurement. */
const DECAY = 0.5;
/** Measurements without a call before the timer stops: an idle gateway does nothing. */
const IDLE_MEASUREMENTS = 20;

interface Waiting {
  readonly go: () => void;
  readonly giveUp: (error: GatewayError) => void;
}

/**
 * Limits calls at once and queues the rest, in turn for each actor. Beyond the queue, calls are refused at once with
 * the time to retry after: that is worth more than an answer after the caller has given up.
 */
export const overload: PluginFactory<"overload", OverloadOptions, Required<OverloadOptions>> = definePlugin({
  name: "overload",
  uses: [],
  // Before other plugins store anything of a call: a refused call was never made.
  order: "pre",
  keys: ["overload"],
  options: options as v.GenericSchema<OverloadOptions, Required<OverloadOptions>>,
  setup(gateway, { maxConcurrent, maxWaiting, maxWaitingEach, maxLagMs, local }) {
    const queues = new Map<string, Waiting[]>();
    let [running, waiting, refused, lagMs] = [0, 0, 0, 0];
    let expected = 0;
    let measurementsLeft = 0;
    let timer: ReturnType<typeof setInterval> | undefined;
    const gauge = (name: string, help: string, read: () => number): void =>
      gateway.register("gauge", name, { help, read: () => [{ value: read() }] });
    gauge("toolpipe_load_running", "Calls that are being made.", () => running);
    gauge("toolpipe_load_waiting", "Calls that wait for their turn.", () => waiting);
    gauge("toolpipe_load_refused_total", "Calls that were too many.", () => refused);
    gauge("toolpipe_event_loop_lag_seconds", "By how much the process was late lately.", () => lagMs / 1_000);

    return {
      resolve(call) {
        if (isExempt(call)) return;
        const lag = lagNow();
        if (lag > maxLagMs)
          throw refuse(
            call,
            `its event loop lags by ${Math.round(lag)} ms`,
            Math.min(Math.ceil(lag / 1_000), MAX_RETRY_S),
          );
      },
      execute: (call, next) => (isExempt(call) ? next() : inTurn(call, next)),
      close() {
        clearInterval(timer);
      },
    };

    async function inTurn(call: Call, next: Next): Promise<void> {
      if (running >= maxConcurrent) await turn(call);
      else running++;
      try {
        await next();
      } finally {
        passOn();
      }
    }

    /** An inner call runs in the slot of its outer call: in the queue it could wait for itself. */
    function isExempt({ parent, actor }: Call): boolean {
      return parent !== undefined || (!local && actor.id === localUser.id);
    }

    function lagNow(): number {
      measurementsLeft = IDLE_MEASUREMENTS;
      if (timer) {
        // The measurement itself may be late because of what runs now.
        return Math.max(lagMs, performance.now() - expected);
      }
      expected = performance.now() + INTERVAL_MS;
      timer = setInterval(measure, INTERVAL_MS);
      timer.unref?.();
      return 0;
    }

    function measure(): void {
      const now = performance.now();
      lagMs = Math.max(now - expected, lagMs * DECAY);
      expected = now + INTERVAL_MS;
      if (running > 0 || --measurementsLeft > 0) return;
      clearInterval(timer);
      timer = undefined;
      lagMs = 0;
    }

    /** Waits for a slot; a call that ends hands its slot to the next. */
    function turn(call: Call): Promise<void> {
      const queue = queues.get(call.actor.id) ?? [];
      if (waiting >= maxWaiting) throw refuse(call, `${waiting} calls are queued`, 1);
      if (queue.length >= maxWaitingEach) throw refuse(call, `${queue.length} of your calls are queued`, 1);
      queues.set(call.actor.id, queue);
      waiting++;
      return new Promise((go, giveUp) => {
        const mine: Waiting = { go, giveUp };
        queue.push(mine);
        call.signal.addEventListener("abort", () => leave(call, mine), { once: true });
      });
    }

    function leave(call: Call, mine: Waiting): void {
      const queue = queues.get(call.actor.id);
      const at = queue?.indexOf(mine) ?? -1;
      if (!queue || at < 0) return;
      queue.splice(at, 1);
      if (queue.length === 0) queues.delete(call.actor.id);
      waiting--;
      mine.giveUp(call.cancelled ?? new GatewayError("CANCELLED", `"${call.toolId}" was cancelled.`));
    }

    function passOn(): void {
      const [first] = queues;
      if (!first) {
        running--;
        return;
      }
      const [actor, queue] = first;
      const next = queue.shift();
      // To the end, so that every other actor has a turn before this one has its next.
      queues.delete(actor);
      if (queue.length > 0) queues.set(actor, queue);
      waiting--;
      next?.go();
    }

    function refuse({ toolId }: Call, why: string, seconds: number): GatewayError {
      refused++;
      return new GatewayError(OVERLOADED, `The gateway is overloaded: ${why}. Try again in ${seconds} s.`, {
        data: { tool: toolId, retry_after: seconds, retryAfterMs: seconds * 1_000, sent: false },
      });
    }
  },
});
