import { type Gateway, GatewayError } from "../../core/mod.ts";
import { memoryStore } from "../lib/memory-store.ts";
import { machineClock, processClock } from "./clock.ts";
import { createConfirmations } from "./confirmation.ts";
import { createIdempotency } from "./idempotency.ts";
import type { GuardSettings } from "./options.ts";
import { createOutbox } from "./outbox.ts";

const FIRST_SWEEP_MS = 300_000;
const SWEEP_MS = 3_600_000;

/** Creates the state in the store of the gateway; in memory if there is none. */
export function createGuardState(
  gateway: Gateway,
  { clock: given, replayMs, confirmationMs }: GuardSettings,
) {
  const store = gateway.services.state ?? memoryStore();
  const clock = given ?? store.clock ?? (store.volatile === true ? processClock() : machineClock());
  const idempotency = createIdempotency(store, { clock, keepMs: replayMs });
  const confirmations = createConfirmations(store, { wall: () => clock.wall(), ttlMs: confirmationMs });
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isStopped = false;

  return {
    store,
    /** Whether the state is lost when the process ends, or the Redis that keeps it. */
    get isVolatile() {
      return store.volatile === true;
    },
    idempotency,
    outbox: createOutbox(),
    confirmations,
    /** Deletes expired records after a while, and then every hour. */
    startSweeping: () => schedule(FIRST_SWEEP_MS),
    stopSweeping() {
      isStopped = true;
      clearTimeout(timer);
    },
  };

  function schedule(ms: number): void {
    if (isStopped) return;
    timer = setTimeout(() => {
      sweep()
        .catch((thrown: unknown) => gateway.report(GatewayError.from(thrown)))
        .finally(() => schedule(SWEEP_MS));
    }, ms);
    timer.unref?.();
  }

  async function sweep(): Promise<void> {
    await idempotency.sweep();
    await confirmations.sweep();
  }
}
