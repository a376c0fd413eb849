import { createHash } from "node:crypto";
import { join, resolve } from "node:path";
import * as v from "valibot";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { type Cache, createCache, fileStorage } from "../cache/mod.ts";
import { definitionHash, type ServerConfig } from "../sources/server-config.ts";
import { cacheFolder, type Environment } from "../state/folders.ts";
import type { DiscoveredServer, DiscoveredTool } from "./discovered.ts";
import { safeName } from "./safe-name.ts";

/** What is remembered of a server. */
export type RememberedTools = Pick<DiscoveredServer, "tools" | "resources" | "resourceTemplates">;

/** Remembers what servers offer and what registries answered. Nothing here rejects: what is lost is asked for again. */
export interface ToolCache {
  /** What a server offers, if that is remembered of this very definition and not too old. */
  getTools(config: ServerConfig, headers?: Headers): Promise<RememberedTools | undefined>;
  storeTools(config: ServerConfig, found: RememberedTools, headers?: Headers): Promise<void>;
  /** Where a registry client keeps what it was answered, so that all of it is in one place. */
  readonly registry: Pick<Cache, "get" | "set">;
  /** Forgets everything. */
  clear(): Promise<void>;
  /** Forgets one server, by its name. */
  clearServer(server: string): Promise<void>;
}

/** What proves who asks: another person may be offered other tools. */
type Headers = Readonly<Record<string, string>> | undefined;

/** How long things are remembered, and where. */
export interface ToolCacheSettings {
  readonly folder: string;
  readonly toolTtlMs: number;
  readonly registryTtlMs: number;
}

const HOUR_MS = 3_600_000;

/** What the environment says of the cache: `CCOS_MCP_CACHE_DIR` and `CCOS_MCP_CACHE_TTL`, in seconds. */
export function toolCacheSettings(env: Environment = process.env): ToolCacheSettings {
  const seconds = env["CCOS_MCP_CACHE_TTL"] || "86400";
  if (!/^\d{1,12}(\.\d+)?$/.test(seconds)) {
    throw new GatewayError("CONFIG_INVALID", "The variable CCOS_MCP_CACHE_TTL must be a number of seconds.");
  }
  const own = env["CCOS_MCP_CACHE_DIR"];
  return {
    // Not `.ccos/mcp_cache` in the current folder, as the specification has it: whoever wrote the project that a
    // person works in could then say what the tools of that person's servers are. Who sets the variable means it.
    folder: own ? resolve(own) : join(cacheFolder(env), "mcp"),
    toolTtlMs: Number(seconds) * 1_000,
    registryTtlMs: HOUR_MS,
  };
}

/** What a {@link toolCache} is made of. */
export interface ToolCacheParts extends Partial<ToolCacheSettings> {
  /** A cache to use in place of files in a folder. */
  readonly cache?: Cache | undefined;
  /** Hears once that files cannot be read or written. */
  readonly onTrouble?: ((cause: unknown) => void) | undefined;
  /** The time in milliseconds, for tests. */
  readonly now?: (() => number) | undefined;
}

/** Makes the cache: in memory, and in files where there is a folder. */
export async function toolCache(parts: ToolCacheParts = {}): Promise<ToolCache> {
  const { folder, toolTtlMs = 24 * HOUR_MS, onTrouble = () => {}, now } = parts;
  const cache =
    parts.cache ??
    createCache({
      storage: folder === undefined ? undefined : fileStorage(folder),
      onTrouble,
      ...(now && { now }),
    });
  return {
    async getTools(config, headers) {
      const { success, output } = v.safeParse(remembered, await cache.get(toolsKey(config.name)));
      // Another definition may be another server altogether.
      return success && output.hash === hashOf(config, headers) ? output.found : undefined;
    },
    async storeTools(config, found, headers) {
      await cache.set(toolsKey(config.name), { hash: hashOf(config, headers), found }, toolTtlMs);
    },
    registry: { get: cache.get, set: cache.set },
    clear: () => cache.clear(),
    clearServer: (server) => cache.clear(toolsKey(server)),
  };
}

/** What the tools of a server are remembered under. */
export function toolsKey(server: string): string {
  return `tools_${safeName(server)}`;
}

function hashOf(config: ServerConfig, headers: Headers): string {
  const own = definitionHash(config);
  if (headers === undefined) return own;
  const sorted = Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return createHash("sha256")
    .update(JSON.stringify([own, sorted]))
    .digest("hex");
}

const object = v.custom<JsonObject>(isJsonObject);
const texts = v.array(v.string());
const tool = v.looseObject({
  name: v.string(),
  inputSchema: object,
  inputType: v.string(),
  domains: texts,
  categories: texts,
}) as unknown as v.GenericSchema<DiscoveredTool>;
// A file may be whole and still not ours: an older version wrote it, or somebody else did.
const remembered = v.object({
  hash: v.string(),
  found: v.object({ tools: v.array(tool), resources: v.array(object), resourceTemplates: v.array(object) }),
});
