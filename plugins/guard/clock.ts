import { randomUUID } from "node:crypto";
import { uptime } from "node:os";
import type { Clock } from "../../core/services/state.ts";
import { bootId } from "../lib/process-identity.ts";

export type { Clock } from "../../core/services/state.ts";

/** A moment, as it is written down. */
interface Moment {
  readonly wall: number;
  readonly steady: number;
  readonly boot: string;
}

/** The present moment. */
export function now(clock: Clock): Moment {
  return { wall: clock.wall(), steady: clock.steady(), boot: clock.boot };
}

/** The milliseconds since a moment. After a restart of the machine only the wall clock can tell. */
export function since(clock: Clock, { wall, steady, boot }: Moment): number {
  return boot === clock.boot ? clock.steady() - steady : Math.max(0, clock.wall() - wall);
}

/** A clock for what goes with this process. */
export function processClock(): Clock {
  return { wall: Date.now, steady: () => performance.now(), boot: `process ${randomUUID()}` };
}

/** A clock that all processes of this machine share. */
export function machineClock(): Clock {
  const boot = bootId();
  if (boot === undefined) return { ...processClock(), steady: Date.now, boot: "wall" };
  return { wall: Date.now, steady: () => uptime() * 1000, boot };
}
