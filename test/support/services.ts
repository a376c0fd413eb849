import { GatewayError, type Plugin, type Tool } from "../../core/mod.ts";
import type { Cache, CacheStorage } from "../../core/services/cache.ts";
import type { Ranker } from "../../core/services/search.ts";
import type { StateStore } from "../../core/services/state.ts";
import { sha256Hex } from "../../plugins/lib/hash.ts";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { copySchema } from "../../plugins/lib/schema/copy.ts";

// The smallest honest providers of services, for tests of plugins that use a service and not its plugin.

/** A store that outlives the gateways of a test: those that share it see the same state. */
export function lastingStore(): StateStore {
  return { ...memoryStore(), volatile: false };
}

/** Provides a store as the state of a gateway. */
export function provideState(store: StateStore = memoryStore()): Plugin {
  return {
    name: "state",
    provides: ["state"],
    setup(gateway) {
      gateway.provide("state", store);
      return { close: () => store.close() };
    },
  };
}

/** Provides a cache. */
export function provideCache(cache: Cache = createTestCache()): Plugin {
  return {
    name: "cache",
    provides: ["cache"],
    setup: (gateway) => gateway.provide("cache", cache),
  };
}

/** A cache in a storage, or in memory. Each entry is JSON with its time and a hash, by which damage is seen. */
export function createTestCache({
  storage = memoryStorage(),
  now = Date.now,
}: {
  readonly storage?: CacheStorage;
  readonly now?: () => number;
} = {}): Cache {
  const write = async (key: string, value: unknown, ttlMs: number): Promise<void> => {
    const body = JSON.stringify({ key, expires: now() + ttlMs, value });
    await storage.setItemRaw(toName(key), `${sha256Hex(body)}\n${body}`);
  };
  const read = async (key: string): Promise<unknown> => {
    const [hash, body = ""] = String((await storage.getItemRaw(toName(key))) ?? "").split("\n");
    if (hash !== sha256Hex(body)) return undefined;
    const entry = JSON.parse(body) as { readonly expires: number; readonly value: unknown };
    return entry.expires > now() ? entry.value : undefined;
  };
  return {
    ttlMs: 3_600_000,
    get: (key) => read(key),
    set: write,
    async getBytes(key) {
      const text = await read(`bytes:${key}`);
      return typeof text === "string" ? new Uint8Array(Buffer.from(text, "base64")) : undefined;
    },
    setBytes: (key, bytes, ttlMs) => write(`bytes:${key}`, Buffer.from(bytes).toString("base64"), ttlMs),
    async clear(key) {
      const names = key === undefined ? await storage.getKeys() : [toName(key), toName(`bytes:${key}`)];
      for (const name of names) await storage.removeItem(name);
    },
  };
}

function toName(key: string): string {
  return `toolpipe-${key.replace(/[^\w-]+/g, "-").slice(0, 60)}-${sha256Hex(key).slice(0, 16)}`;
}

/** A storage in memory. */
function memoryStorage(): CacheStorage {
  const items = new Map<string, unknown>();
  return {
    getItemRaw: async (key) => items.get(key),
    setItemRaw: async (key, value) => void items.set(key, value),
    removeItem: async (key) => void items.delete(key),
    getKeys: async () => [...items.keys()],
  };
}

/** Refuses arguments that do not fit the schema of their tool. */
export function checkArguments(): Plugin {
  return {
    name: "check-arguments",
    setup: () => ({
      validate({ tool, args }) {
        if (tool && !copySchema(tool.inputSchema).check(args).valid)
          throw new GatewayError("INVALID_ARGUMENTS", `The arguments do not fit the schema of "${tool.id}".`);
      },
    }),
  };
}

/** Ends every call of a tool after so many milliseconds. */
export function endCalls(ms: number): Plugin {
  return {
    name: "end-calls",
    setup: () => ({
      async execute(call, next) {
        if (call.tool?.builtin) return next();
        const timer = setTimeout(
          () => call.cancel(new GatewayError("TIMEOUT", `The tool did not answer within ${ms} ms.`)),
          ms,
        );
        try {
          return await next();
        } finally {
          clearTimeout(timer);
        }
      },
    }),
  };
}

/** Finds the tools that have a word of the query in their name or description: the more words, the better. */
export function wordRanker(): Ranker {
  const servers = new Map<string, readonly Tool[]>();
  return {
    name: "words",
    update: (server, tools) => void servers.set(server, tools),
    rank(query, { server, limit = 10 } = {}) {
      const words = query.toLowerCase().split(/\W+/).filter(Boolean);
      const hits = [...servers]
        .filter(([name]) => server === undefined || name === server)
        .flatMap(([, tools]) => tools)
        .map((tool) => {
          const text = `${tool.name} ${tool.description ?? ""}`.toLowerCase();
          return { tool, relevance: words.filter((word) => text.includes(word)).length / words.length };
        })
        .filter(({ relevance }) => relevance > 0)
        .toSorted((a, b) => b.relevance - a.relevance);
      return { hits: hits.slice(0, limit), nearest: [] };
    },
  };
}
