import * as v from "valibot";
import {
  type Call,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  localUser,
  type Next,
} from "../core/mod.ts";
import { option, wholeNumber } from "./lib/options.ts";

export const OVERLOADED: ErrorKind = defineError("OVERLOADED", {
  retry: true,
  description: "The gateway is overloaded. The call was not made.",
});

const count = wholeNumber(1);
const options = v.strictObject({
  maxConcurrent: option(count, "Calls that run at once.", 256),
  maxWaiting: option(wholeNumber(0), "Calls in the queue. More are refused.", 1_024),
  maxWaitingEach: option(
    count,
    "Calls of one actor in the queue, so that there is room for other actors.",
    128,
  ),
  maxLagMs: option(count, "Milliseconds of event loop lag above which calls are refused.", 200),
  local: option(
    v.boolean(),
    "Whether calls of the local user count too. A single user competes with no other, so they do not by default.",
    false,
  ),
});

/** Options of {@link overload}. */
export type OverloadOptions = v.InferInput<typeof options>;

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
export const overload = definePlugin({
  name: "overload",
  uses: [],
  // Before other plugins store anything of a call: a refused call was never made.
  order: "pre",
  keys: ["overload"],
  options,
  errors: { OVERLOADED },
  setup(gateway, { maxConcurrent, maxWaiting, maxWaitingEach, maxLagMs, local }) {
    const queues = new Map<string, Waiting[]>();
    let [running, waiting, refused, lagMs] = [0, 0, 0, 0];
    let expected = 0;
    let measurementsLeft = 0;
    let timer: ReturnType<typeof setInterval> | undefined;
    const gauge = (name: string, help: string, read: () => number): void =>
      gateway.register("gauge", name, { help, read: () => [{ value: read() }] });
    gauge("toolpipe_load_running", "Calls that run.", () => running);
    gauge("toolpipe_load_waiting", "Calls in the queue.", () => waiting);
    gauge("toolpipe_load_refused_total", "Calls refused because of overload.", () => refused);
    gauge("toolpipe_event_loop_lag_seconds", "Recent lag of the event loop.", () => lagMs / 1_000);

    return {
      resolve(call) {
        if (isExempt(call)) return;
        const lag = readLag();
        if (lag > maxLagMs)
          throw refuse(
            call,
            `its event loop lags by ${Math.round(lag)} ms`,
            Math.min(Math.ceil(lag / 1_000), MAX_RETRY_S),
          );
      },
      execute: (call, next) => (isExempt(call) ? next() : runInTurn(call, next)),
      close() {
        clearInterval(timer);
      },
    };

    async function runInTurn(call: Call, next: Next): Promise<void> {
      if (running >= maxConcurrent) await waitForTurn(call);
      else running++;
      try {
        await next();
      } finally {
        startNext();
      }
    }

    /** An inner call runs in the slot of its outer call: in the queue it could wait for itself. */
    function isExempt({ parent, actor }: Call): boolean {
      return parent !== undefined || (!local && actor.id === localUser.id);
    }

    function readLag(): number {
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
    function waitForTurn(call: Call): Promise<void> {
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

    function startNext(): void {
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
