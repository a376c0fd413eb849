import type { StateStore } from "../../core/services/state.ts";
import { machineClock, processClock } from "../lib/clock.ts";
import { type Confirmations, createConfirmations } from "./confirmation.ts";
import { createIdempotency, type Idempotency } from "./idempotency.ts";
import type { GuardSettings } from "./options.ts";

/** The state that the guard keeps. */
export interface Memory {
  readonly store: StateStore;
  /** Whether it is lost when the process ends. */
  readonly isVolatile: boolean;
  readonly idempotency: Idempotency;
  readonly confirmations: Confirmations;
  /** Deletes expired records. */
  sweep(): Promise<void>;
}

/** Creates the memory in a store. */
export function createMemory(
  store: StateStore,
  { clock: given, replayMs, confirmationMs }: GuardSettings,
): Memory {
  const isVolatile = store.volatile === true;
  const clock = given ?? store.clock ?? (isVolatile ? processClock() : machineClock());
  const idempotency = createIdempotency(store, { clock, keepMs: replayMs });
  const confirmations = createConfirmations(store, { wall: () => clock.wall(), ttlMs: confirmationMs });
  return {
    store,
    isVolatile,
    idempotency,
    confirmations,
    async sweep() {
      await idempotency.sweep();
      await confirmations.sweep();
    },
  };
}
