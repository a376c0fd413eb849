import type { StateStore } from "../state/store.ts";
import { machineClock, processClock } from "./clock.ts";
import { type Confirmations, confirmationsIn } from "./confirmation.ts";
import { type Idempotency, idempotencyIn } from "./idempotency.ts";
import type { GuardSettings } from "./options.ts";
import type {} from "./store.ts";

/** What the guard remembers things in. */
export interface Memory {
  readonly store: StateStore;
  /** Whether it is gone with the process. */
  readonly isVolatile: boolean;
  readonly idempotency: Idempotency;
  readonly confirmations: Confirmations;
  /** Forgets what is of no more use. */
  sweep(): Promise<void>;
}

/** The memory in a store. */
export function createMemory(
  store: StateStore,
  { clock: given, replayMs, confirmationMs }: GuardSettings,
): Memory {
  const isVolatile = store.volatile === true;
  const clock = given ?? store.clock ?? (isVolatile ? processClock() : machineClock());
  const idempotency = idempotencyIn(store, { clock, keepMs: replayMs });
  const confirmations = confirmationsIn(store, { wall: () => clock.wall(), ttlMs: confirmationMs });
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
