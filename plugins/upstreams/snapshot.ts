import { createHash } from "node:crypto";
import * as v from "valibot";
import { isJsonObject, type JsonObject, type ToolDefinition } from "../../core/mod.ts";
import type { Cache } from "../cache/mod.ts";
import type { Listing, UpstreamInfo } from "./upstream.ts";

/** What is remembered of a server from one start to the next. */
export interface Remembered {
  /** The definition it was listed under; another one makes this worthless. */
  readonly hash: string;
  readonly savedAt: number;
  readonly info: UpstreamInfo;
  readonly listing: Listing;
  /** What its handshake came to, so that the next one is shorter. */
  readonly prior?: unknown;
}

/** The catalog on disk. One value for all servers: a thousand files would take longer to read than to parse. */
export interface Snapshot {
  /** What is remembered, by whatever it was kept under. */
  load(): Promise<ReadonlyMap<string, Remembered>>;
  /** Keeps what a server said; it is written a moment later, together with what else came in. */
  keep(server: string, remembered: Remembered): void;
  /** Writes what is not written yet, and waits for what is being written. */
  flush(): Promise<void>;
}

/** All of it is written each time, so not for every server that is found. */
const WRITE_DELAY_MS = 1_000;
/** Old ones are still shown at once, and refreshed; after this long they are only dead weight. */
const KEEP_MS = 30 * 24 * 3600 * 1000;

const object = v.custom<JsonObject>(isJsonObject);
const objects = v.array(object);
const remembered = v.object({
  hash: v.string(),
  savedAt: v.number(),
  info: object,
  listing: v.object({
    tools: v.array(object as unknown as v.GenericSchema<ToolDefinition>),
    rejected: v.array(v.object({ name: v.string(), reason: v.string() })),
    resources: objects,
    resourceTemplates: objects,
    prompts: objects,
  }),
  prior: v.optional(v.unknown()),
});

/** What was remembered of a server, where it is in order. */
export function rememberedOf(value: unknown): Remembered | undefined {
  const { success, output } = v.safeParse(remembered, value);
  return success ? (output as Remembered) : undefined;
}

/** The snapshot that belongs to a config: two gateways with other servers must not overwrite each other's. */
export function createSnapshot(cache: Pick<Cache, "get" | "set">, owner: string): Snapshot {
  const key = `catalog_${createHash("sha256").update(owner).digest("hex").slice(0, 16)}`;
  const kept = new Map<string, Remembered>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let dirty = false;

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    // One after another: of two at once, the older could be the last to be done.
    writing = writing.then(async () => {
      if (!dirty) return;
      dirty = false;
      await cache.set(key, Object.fromEntries(kept), KEEP_MS);
    });
    return writing;
  };

  return {
    async load() {
      const stored = await cache.get(key);
      for (const [server, value] of Object.entries(isJsonObject(stored) ? stored : {})) {
        const known = rememberedOf(value);
        if (!known || kept.has(server) || Date.now() - known.savedAt > KEEP_MS) continue;
        kept.set(server, known);
      }
      return new Map(kept);
    },
    keep(server, value) {
      kept.set(server, value);
      dirty = true;
      timer ??= setTimeout(() => void flush(), WRITE_DELAY_MS);
      timer.unref?.();
    },
    flush,
  };
}
