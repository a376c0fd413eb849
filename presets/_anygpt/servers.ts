import type { Gateway, Tool } from "../../core/mod.ts";
import type { Connection } from "../../plugins/sources/mod.ts";
import type { ServerState, ServerStatus } from "../../plugins/upstreams/mod.ts";
import { oneLine } from "./shorten.ts";

/** A server, as the specification lists them. */
export interface ServerMetadata {
  readonly name: string;
  readonly description: string;
  readonly toolCount: number;
  readonly enabledCount: number;
  readonly status: ServerState;
  /** Why it cannot be used; not there where it can. */
  readonly reason?: string;
  /** How it is reached, as its definition says. It may hold secrets, so JSON and copies of this object leave it out. */
  readonly config?: Connection;
}

/** Every server, also one that could not be taken into the catalog: it must not disappear for that. */
export function serversOf(gateway: Gateway): ServerMetadata[] {
  const known = gateway.catalog.servers();
  const ids = new Set(known.map(({ id }) => id));
  const left = (gateway.services.upstreams?.statuses() ?? []).filter(({ name }) => !ids.has(name));
  return [
    ...known.map(({ id, title, description }) => rowOf(gateway, id, description ?? title)),
    ...left.map(({ name, config }) => rowOf(gateway, name, config.description)),
  ];
}

/** Whether there is a server of this name, other than the gateway itself. */
export function hasServer({ catalog, services }: Gateway, name: string): boolean {
  const known = catalog.server(name);
  return (known !== undefined && !known.builtin) || services.upstreams?.status(name) !== undefined;
}

/** The tools of a server. One that took the name of the gateway itself does not have the gateway's. */
export function toolsOf({ catalog }: Gateway, server: string): readonly Tool[] {
  return catalog.server(server)?.builtin ? [] : catalog.tools(server);
}

/** One tool of a server. */
export function findTool({ catalog }: Gateway, server: string, name: string): Tool | undefined {
  const tool = catalog.tool(`${server}:${name}`);
  // The name of a tool may hold a colon, so that another server and name make the same id.
  return tool && !tool.builtin && tool.server === server ? tool : undefined;
}

function rowOf(gateway: Gateway, name: string, description: string | undefined): ServerMetadata {
  const tools = toolsOf(gateway, name);
  const status = gateway.services.upstreams?.status(name);
  const row = {
    name,
    description: oneLine(description),
    toolCount: tools.length,
    enabledCount: tools.filter((tool) => tool.enabled).length,
    // What a plugin brings is always there.
    status: status?.status ?? "connected",
    ...(status && !isUsable(status) && { reason: status.reason }),
  };
  return status ? Object.defineProperty(row, "config", { value: status.config.connection }) : row;
}

/** One that is only not connected is so when it is needed. */
function isUsable({ status, config }: ServerStatus): boolean {
  return status === "connected" || (status === "disconnected" && !config.disabled);
}

/** The revision of each catalog at which every server had been listed: with a thousand of them, asking takes longer than a search. */
const complete = new WeakMap<Gateway, number>();

/** The servers whose tools are not known yet, and that may still answer. */
export function pendingServers(gateway: Gateway): string[] {
  const { revision } = gateway.catalog;
  if (complete.get(gateway) === revision) return [];
  const statuses = gateway.services.upstreams?.statuses() ?? [];
  const pending = statuses.filter((status) => status.listedAt === undefined && isUsable(status));
  if (pending.length === 0) complete.set(gateway, revision);
  return pending.map(({ name }) => name);
}

/**
 * Waits for servers that are asked for the first time, so that a search right after the very first start is not in
 * vain. Once any tool is known nobody waits: a dead server would delay every search.
 */
export async function firstListing(gateway: Gateway, waitMs: number): Promise<void> {
  if (gateway.catalog.tools().length > 0) return;
  const { upstreams } = gateway.services;
  if (!upstreams) return;
  const asked = pendingServers(gateway).map((name) => upstreams.refresh(name));
  const said = upstreams.statuses().map(({ name }) => upstreams.published(name));
  let timer: ReturnType<typeof setTimeout> | undefined;
  const enough = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([Promise.all([...asked, ...said]), enough]);
  clearTimeout(timer);
}

/** Asks a server whose tools were never read. What one has just said may still be on its way into the catalog. */
export async function learnOf(gateway: Gateway, server: string): Promise<void> {
  const { upstreams } = gateway.services;
  const status = upstreams?.status(server);
  if (!status) return;
  if (status.listedAt !== undefined) await upstreams?.published(server);
  else if (status.status !== "needs-approval" && !status.config.disabled) await upstreams?.refresh(server);
}
