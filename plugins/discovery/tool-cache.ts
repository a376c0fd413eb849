import * as v from "valibot";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Cache } from "../../core/services/cache.ts";
import type { ServerConfig } from "../../core/services/sources.ts";
import { hashServer, sha256Hex } from "../lib/hash.ts";
import type { DiscoveredServer, DiscoveredTool } from "./discovered.ts";
import { toSafeName } from "./safe-names.ts";

/** The cached part of a discovery. */
type CachedTools = Pick<DiscoveredServer, "tools" | "resources" | "resourceTemplates">;

/** Headers of the caller: another user may be offered other tools. */
type Headers = Readonly<Record<string, string>> | undefined;

/** Discovered tools in the cache of the gateway. No method rejects: lost entries are discovered again. */
export interface ToolCache {
  /**
   * Returns the tools of a server, if they are of this definition and these headers and not too old. A name alone finds
   * the tools that were stored last under it, whatever the definition.
   */
  getTools(server: ServerConfig | string, headers?: Headers): Promise<CachedTools | undefined>;
  /** Stores the tools of a server. Tools that are stored under a name alone are found by the name alone. */
  storeTools(server: ServerConfig | string, found: CachedTools, headers?: Headers): Promise<void>;
  /** Clears the whole cache of the gateway. */
  clear(): Promise<void>;
  /** Clears the tools of one server. */
  clearServer(server: string): Promise<void>;
}

/** Reads how long tools are cached from `CCOS_MCP_CACHE_TTL`, in seconds; a day by default. */
export function toolCacheTtl(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const seconds = env["CCOS_MCP_CACHE_TTL"] || "86400";
  if (/^\d{1,12}(\.\d+)?$/.test(seconds)) return Number(seconds) * 1_000;
  throw new GatewayError("CONFIG_INVALID", "The variable CCOS_MCP_CACHE_TTL must be a number of seconds.");
}

/** Creates the cache of discovered tools on the cache of the gateway. */
export function createToolCache(
  cache: Pick<Cache, "get" | "set" | "clear">,
  ttlMs: number = toolCacheTtl(),
): ToolCache {
  return {
    async getTools(server, headers) {
      const name = typeof server === "string" ? server : server.name;
      const { success, output } = v.safeParse(entry, await cache.get(toolsKey(name)));
      if (!success) return undefined;
      // Another definition may be another server altogether.
      const isMeant = typeof server === "string" || output.hash === hashDefinition(server, headers);
      return isMeant ? output.found : undefined;
    },
    async storeTools(server, found, headers) {
      const name = typeof server === "string" ? server : server.name;
      const hash = typeof server === "string" ? "" : hashDefinition(server, headers);
      await cache.set(toolsKey(name), { hash, found }, ttlMs);
    },
    clear: () => cache.clear(),
    clearServer: (server) => cache.clear(toolsKey(server)),
  };
}

/** Creates a cache for a gateway that has none: entries end with the process. */
export function createMemoryCache(): Pick<Cache, "get" | "set" | "clear"> {
  const entries = new Map<string, { readonly value: unknown; readonly expires: number }>();
  return {
    async get(key) {
      const known = entries.get(key);
      return known && known.expires > Date.now() ? known.value : undefined;
    },
    async set(key, value, ttlMs) {
      entries.set(key, { value, expires: Date.now() + ttlMs });
    },
    async clear(key) {
      if (key === undefined) entries.clear();
      else entries.delete(key);
    },
  };
}

/** Returns the cache key of a server's tools, as spec 004 names it. */
export function toolsKey(server: string): string {
  return `tools_${toSafeName(server)}`;
}

function hashDefinition(config: ServerConfig, headers: Headers): string {
  const hash = hashServer(config);
  if (headers === undefined) return hash;
  const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return sha256Hex(JSON.stringify([hash, sorted]));
}

const object = v.custom<JsonObject>(isJsonObject);
const strings = v.array(v.string());
const tool = v.looseObject({
  name: v.string(),
  inputSchema: object,
  inputType: v.string(),
  domains: strings,
  categories: strings,
}) as unknown as v.GenericSchema<DiscoveredTool>;
// A whole file may still be none of ours: another version or another program wrote it.
const entry = v.object({
  hash: v.string(),
  found: v.object({ tools: v.array(tool), resources: v.array(object), resourceTemplates: v.array(object) }),
});
