import {
  type Gateway,
  GatewayError,
  isJsonObject,
  type JsonObject,
  type ToolResult,
  textResult,
} from "../../core/mod.ts";
import type { Search } from "../../core/services/search.ts";
import { sleep, waitAtMost } from "../../plugins/lib/backoff.ts";
import { isUsable, listPendingServers } from "../../plugins/lib/servers.ts";

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

/** Once the tools of one server are known, a search waits only so long for those of the others. */
const OTHERS_MS = 500;

/**
 * Waits for servers that are asked for the first time, so that a search right after the very first start finds tools.
 * Once any tool is known it hardly waits: a dead server would delay every search.
 */
export async function waitForFirstListing(gateway: Gateway, waitMs: number): Promise<void> {
  const hasTools = (): boolean => gateway.catalog.tools().length > 0;
  const { servers } = gateway.services;
  if (hasTools() || !servers) return;
  const refreshed = listPendingServers(gateway).map((name) => servers.refresh(name));
  const settled = servers.statuses().map(({ name }) => servers.settled(name));
  const all = [...refreshed, ...settled];
  const firstFound = new Promise<void>((resolve) => {
    for (const one of all) {
      void one.then(async () => {
        if (!hasTools()) return;
        await sleep(OTHERS_MS, undefined, false);
        resolve();
      });
    }
  });
  await waitAtMost(Promise.race([Promise.all(all), firstFound]), waitMs);
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
