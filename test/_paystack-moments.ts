import { existsSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import type { ChargeOrder, Executed, Shop } from "./_paystack.ts";

/** Waits for the moment, while calls are pending. */
export type Moment = (orders: readonly ChargeOrder[], calls: readonly Promise<Executed>[]) => Promise<void>;

/**
 * The moment at which to kill a gateway next: by turns at every boundary of its calls, and then a little later. Asked
 * for before the calls are made.
 */
export async function nextMoment(round: number, shop: Shop): Promise<Moment> {
  const keys = await countKeys(shop);
  const boundaries: readonly ((names: readonly string[], calls: readonly Promise<unknown>[]) => unknown)[] = [
    // They may not even have arrived.
    () => pause(Math.random() * 30),
    async () => {
      while ((await countKeys(shop)) === keys) await pause(1);
    },
    (names) => shop.ledger.until("received", names),
    (names) => shop.ledger.until("charged", names),
    (_names, calls) => Promise.any(calls),
  ];
  return async (orders, calls) => {
    const names = orders.map(({ order }) => order);
    await boundaries[round % boundaries.length]?.(names, calls);
    await pause(Math.random() * 8);
  };
}

/** How many keys the gateways of a shop have written down. */
async function countKeys({ home }: Shop): Promise<number> {
  const folder = join(home, "state", "store", "idempotency", "keys");
  return existsSync(folder) ? (await readdir(folder)).length : 0;
}
