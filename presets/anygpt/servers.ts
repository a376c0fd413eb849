import type { Catalog, Gateway } from "../../core/mod.ts";
import { isUsable } from "../../plugins/lib/servers.ts";

/** The revision of each catalog at which every server had been listed: with a thousand of them, asking takes longer than a search. */
const complete = new WeakMap<Catalog, number>();

/** The servers whose tools are not known yet, and that may still answer. */
export function pendingServers(gateway: Gateway): string[] {
  const { revision } = gateway.catalog;
  if (complete.get(gateway.catalog) === revision) return [];
  const statuses = gateway.services.servers?.statuses() ?? [];
  const pending = statuses.filter((status) => status.listedAt === undefined && isUsable(status));
  if (pending.length === 0) complete.set(gateway.catalog, revision);
  return pending.map(({ name }) => name);
}

/**
 * Waits for servers that are asked for the first time, so that a search right after the very first start is not in
 * vain. Once any tool is known nobody waits: a dead server would delay every search.
 */
export async function firstListing(gateway: Gateway, waitMs: number): Promise<void> {
  if (gateway.catalog.tools().length > 0) return;
  const { servers } = gateway.services;
  if (!servers) return;
  const asked = pendingServers(gateway).map((name) => servers.refresh(name));
  const said = servers.statuses().map(({ name }) => servers.settled(name));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([Promise.all([...asked, ...said]), enough]);
  clearTimeout(timer);
}

/** Asks a server whose tools were never read. What one has just said may still be on its way into the catalog. */
export async function learnOf(gateway: Gateway, server: string): Promise<void> {
  const { servers } = gateway.services;
  const status = servers?.status(server);
  if (!status) return;
  if (status.listedAt !== undefined) await servers?.settled(server);
  else if (status.status !== "needs-approval" && !status.config.disabled) await servers?.refresh(server);
}
