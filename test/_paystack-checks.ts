import { Buffer } from "node:buffer";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { createHasher, installationKey } from "../plugins/audit/key.ts";
import { verifyAudit } from "../plugins/audit/mod.ts";
import { canonicalJson } from "../plugins/lib/hash.ts";
import { type ChargeOrder, createParams, SECRET, type Shop } from "./_paystack.ts";

/** The folder in which the gateways of a shop keep their audit. */
export function auditFolder({ home }: Shop): string {
  return join(home, "state", "audit");
}

/** Neither what the gateways printed or answered nor any file of theirs holds the secret. */
export async function expectNoSecret(shop: Shop): Promise<void> {
  expect(shop.said()).toContain(" at http://");
  expect(shop.said()).not.toContain(SECRET);
  const files = await filesBelow(shop.home);
  expect(files.length).toBeGreaterThan(2);
  const encoded = Buffer.from(SECRET).toString("base64").replace(/=+$/, "");
  const leaks = files.filter(({ text }) => text.includes(SECRET) || text.includes(encoded));
  expect(leaks.map(({ path }) => path)).toEqual([]);
}

/** Every charge was recorded before it was made, and no record was changed, however its process ended. */
export async function expectAudited(shop: Shop, orders: readonly ChargeOrder[]): Promise<void> {
  const files = (await filesBelow(auditFolder(shop))).filter(({ path }) => path.endsWith(".jsonl"));
  const key = installationKey(join(shop.home, "state", "audit.key"));
  const verified = await verifyAudit(
    files.map(({ path }) => path),
    [],
    { key },
  );
  expect(verified.filter(({ fault }) => fault)).toEqual([]);
  const intents = new Set(
    files
      .flatMap(({ text }) => text.split("\n"))
      .filter((line) => line.includes('"intent"'))
      .flatMap((line) => /"params_hash":"([0-9a-f]+)"/.exec(line)?.[1] ?? []),
  );
  for (const order of orders) {
    if ((await shop.ledger.chargesOf(order.order)) === 0) continue;
    expect(intents, order.order).toContain(createHasher(key)(canonicalJson(createParams(order))));
  }
}

/** All files below a folder, with what they hold. */
async function filesBelow(folder: string): Promise<{ readonly path: string; readonly text: string }[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(
    found
      .filter((entry) => entry.isFile())
      .map(async (entry) => {
        const path = join(entry.parentPath, entry.name);
        // A gateway that lives may have removed a draft meanwhile.
        return { path, text: await readFile(path, "latin1").catch(() => "") };
      }),
  );
}
