import {
  type Catalog,
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ToolResult,
  textResult,
} from "../../core/mod.ts";
import type { Search } from "../../core/services/search.ts";
import { waitAtMost } from "../../plugins/lib/backoff.ts";
import { isUsable } from "../../plugins/lib/servers.ts";

/** Returns a value as compact JSON: indentation would cost an agent tokens. */
export function toJsonResult(value: unknown): ToolResult {
  return textResult(JSON.stringify(value));
}

/** Returns the search of a gateway. Throws where no plugin provides one. */
export function getSearch({ services }: Gateway): Search {
  if (services.search) return services.search;
  throw new GatewayError(
    "PLUGIN_INVALID",
    'This preset needs the plugin "search", which is missing. Add it to "plugins".',
  );
}

/** One parameter of a tool. */
export interface Parameter {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly schema: JsonObject;
}

/** Lists the parameters of a tool from its input schema. */
export function listToolParameters(inputSchema: JsonObject): Parameter[] {
  // The server wrote the schema, so nothing in it is certain: one malformed tool must not break a list of tools.
  const properties = isJsonObject(inputSchema["properties"]) ? inputSchema["properties"] : {};
  const required = Array.isArray(inputSchema["required"]) ? inputSchema["required"] : [];
  return Object.entries(properties).map(([name, given]) => {
    const schema = isJsonObject(given) ? given : {};
    const { description } = schema;
    return {
      name,
      description: typeof description === "string" ? description : "",
      required: required.includes(name),
      schema,
    };
  });
}

/** The catalog revision at which every server had been listed: with a thousand servers, asking takes longer than a search. */
const complete = new WeakMap<Catalog, number>();

/** Lists the servers whose tools are not known yet and that may still answer. */
export function listPendingServers(gateway: Gateway): string[] {
  const { revision } = gateway.catalog;
  if (complete.get(gateway.catalog) === revision) return [];
  const statuses = gateway.services.servers?.statuses() ?? [];
  const pending = statuses.filter((status) => status.listedAt === undefined && isUsable(status));
  if (pending.length === 0) complete.set(gateway.catalog, revision);
  return pending.map(({ name }) => name);
}

/**
 * Waits for servers that are asked for the first time, so that a search right after the very first start finds tools.
 * Once any tool is known it does not wait: a dead server would delay every search.
 */
export async function waitForFirstListing(gateway: Gateway, waitMs: number): Promise<void> {
  if (gateway.catalog.tools().length > 0) return;
  const { servers } = gateway.services;
  if (!servers) return;
  const refreshed = listPendingServers(gateway).map((name) => servers.refresh(name));
  const settled = servers.statuses().map(({ name }) => servers.settled(name));
  await waitAtMost(Promise.all([...refreshed, ...settled]), waitMs);
}

/** Lists a server that was never listed. For others it waits until their last listing is in the catalog. */
export async function ensureListed(gateway: Gateway, server: string): Promise<void> {
  const { servers } = gateway.services;
  const status = servers?.status(server);
  if (!status) return;
  if (status.listedAt !== undefined) await servers?.settled(server);
  else if (status.status !== "needs-approval" && !status.config.disabled) await servers?.refresh(server);
}

/** Lists a server again whose listing is older than this time. One that does not answer soon stays as it was. */
export async function refreshOlder(
  gateway: Gateway,
  server: string,
  time: number,
  waitMs: number,
): Promise<void> {
  const { servers } = gateway.services;
  const status = servers?.status(server);
  if (status?.listedAt !== undefined && status.listedAt < time && isUsable(status))
    await waitAtMost(servers?.refresh(server), waitMs);
}

/** Returns the time before which listings are older than the cache keeps them. */
export function getExpiry({ services }: Gateway): number {
  return Date.now() - (services.cache?.ttlMs ?? Number.POSITIVE_INFINITY);
}
