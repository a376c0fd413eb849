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

/** There is more to do than can be done in time. Nothing was done of this call. */
export const OVERLOADED: ErrorKind = defineError("OVERLOADED", { retry: true });

/** The options of {@link overload}. */
export interface OverloadOptions {
  /** So many calls are made at once; 256 by default. */
  readonly maxConcurrent?: number;
  /** So many wait for their turn; 1,024 by default. More are refused. */
  readonly maxWaiting?: number;
  /** So many calls of one caller wait; 128 by default, so that others find room. */
  readonly maxWaitingEach?: number;
  /** Calls are refused while the process is late by more than this; 200 by default. */
  readonly maxLagMs?: number;
  /**
   * Whether calls of the user of this machine count too; they do not by default, since who is alone has nobody to make
   * way for.
   */
  readonly local?: boolean;
}

/** How busy a gateway is. */
export interface Load {
  readonly running: number;
  readonly waiting: number;
  /** By how much the process was late lately. */
  readonly lagMs: number;
  /** How many calls were refused since it began. */
  readonly refused: number;
}

declare module "../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `overload`. */
    load?: () => Load;
  }
}

const count = v.pipe(v.number(), v.integer(), v.minValue(1, "a number, 1 or more"));
const options = v.strictObject({
  maxConcurrent: v.optional(count, 256),
  maxWaiting: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0, "a number, 0 or more")), 1_024),
  maxWaitingEach: v.optional(count, 128),
  maxLagMs: v.optional(count, 200),
  local: v.optional(v.boolean(), false),
});

/** However late it is, nobody is sent away for longer. */
const LONGEST_S = 30;
/** How often is looked whether the process is late. */
const LOOK_MS = 100;
/** What was late is forgotten by half in every look. */
const FORGET = 0.5;
/** After so many looks without any call nobody looks any more, so that a gateway that rests does nothing. */
const RESTING_LOOKS = 20;

interface Waiting {
  readonly go: () => void;
  readonly giveUp: (error: GatewayError) => void;
}

/**
 * Refuses calls before so many wait that all of them are late: an answer that comes at once, and says when to come
 * again, is worth more than one that comes when nobody waits for it any more. Callers take turns.
 */
export const overload: PluginFactory<"overload", OverloadOptions, Required<OverloadOptions>> = definePlugin({
  name: "overload",
  // Before anything is remembered of a call: one that is refused was never made.
  order: "pre",
  keys: ["overload"],
  options: options as v.GenericSchema<OverloadOptions, Required<OverloadOptions>>,
  setup(gateway, { maxConcurrent, maxWaiting, maxWaitingEach, maxLagMs, local }) {
    const queues = new Map<string, Waiting[]>();
    let [running, waiting, refused, lagMs] = [0, 0, 0, 0];
    let expected = 0;
    let looksLeft = 0;
    let timer: ReturnType<typeof setInterval> | undefined;
    gateway.services.load = () => ({ running, waiting, refused, lagMs });

    return {
      resolve(call) {
        if (isExempt(call)) return;
        const lag = lagNow();
        if (lag > maxLagMs)
          throw refuse(
            call,
            `it is late by ${Math.round(lag)} ms`,
            Math.min(Math.ceil(lag / 1_000), LONGEST_S),
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

    /** A call that another one is made of has its place already: it could wait for itself. */
    function isExempt({ parent, actor }: Call): boolean {
      return parent !== undefined || (!local && actor.id === localUser.id);
    }

    function lagNow(): number {
      looksLeft = RESTING_LOOKS;
      if (timer) {
        // Also where the look itself is late because of what goes on right now.
        return Math.max(lagMs, performance.now() - expected);
      }
      expected = performance.now() + LOOK_MS;
      timer = setInterval(look, LOOK_MS);
      timer.unref?.();
      return 0;
    }

    function look(): void {
      const now = performance.now();
      lagMs = Math.max(now - expected, lagMs * FORGET);
      expected = now + LOOK_MS;
      if (running > 0 || --looksLeft > 0) return;
      clearInterval(timer);
      timer = undefined;
      lagMs = 0;
    }

    /** Waits until it is this caller's turn; whoever ends a call then hands its place on. */
    function turn(call: Call): Promise<void> {
      const queue = queues.get(call.actor.id) ?? [];
      if (waiting >= maxWaiting) throw refuse(call, `${waiting} calls wait already`, 1);
      if (queue.length >= maxWaitingEach) throw refuse(call, `${queue.length} of your calls wait already`, 1);
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
      // Behind the others, so that each has a turn before anybody has two.
      queues.delete(actor);
      if (queue.length > 0) queues.set(actor, queue);
      waiting--;
      next?.go();
    }

    function refuse({ toolId }: Call, why: string, seconds: number): GatewayError {
      refused++;
      return new GatewayError(
        OVERLOADED,
        `The gateway has too much to do: ${why}. Try again in ${seconds} s.`,
        {
          data: { tool: toolId, retry_after: seconds, retryAfterMs: seconds * 1_000, sent: false },
        },
      );
    }
  },
});
