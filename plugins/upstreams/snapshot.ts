import * as v from "valibot";
import { GatewayError, isJsonObject, type JsonObject, type ToolDefinition } from "../../core/mod.ts";
import type { Cache } from "../../core/services/cache.ts";
import {
  CONNECT_FAILED,
  type Listing,
  MISSING_VARIABLE,
  NEEDS_AUTH,
  type UpstreamInfo,
} from "../../core/services/servers.ts";
import { sha256Hex } from "../lib/hash.ts";

/** A server's listing as it is kept from one start to the next. */
export interface CachedListing {
  /** Hash of the definition that it was listed under; another definition makes it worthless. */
  readonly hash: string;
  readonly savedAt: number;
  readonly info: UpstreamInfo;
  readonly listing: Listing;
  /** Result of the handshake, which makes the next one shorter. */
  readonly prior?: unknown;
  /** Last failure to connect, since when the server has not been listed. */
  readonly failure?: CachedFailure | undefined;
}

/** Failure to connect, as it is kept from one start to the next. */
export interface CachedFailure {
  readonly code: string;
  readonly message: string;
  readonly at: number;
}

/** The listings of all servers in the cache, as one value: a thousand files would take longer to read than to parse. */
export interface CatalogSnapshot {
  /** Reads the listings, by the key that they were set under. */
  load(): Promise<ReadonlyMap<string, CachedListing>>;
  /** Sets the listing of a server. It is written a moment later, together with others. */
  set(server: string, listing: CachedListing): void;
  /** Writes pending changes and waits until they are written. */
  flush(): Promise<void>;
}

/** Delay that collects changes: each write contains all servers. */
const WRITE_DELAY_MS = 1_000;
/** Old listings are still published at a start, then refreshed; beyond this age they are dropped. */
const MAX_AGE_MS = 30 * 24 * 3600 * 1000;

const object = v.custom<JsonObject>(isJsonObject);
const objects = v.array(object);
const cachedListing = v.object({
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
  failure: v.optional(v.object({ code: v.string(), message: v.string(), at: v.number() })),
});

/** Parses a cached listing; undefined if it is not a valid one. */
export function parseCachedListing(value: unknown): CachedListing | undefined {
  const { success, output } = v.safeParse(cachedListing, value);
  return success ? (output as CachedListing) : undefined;
}

/** Creates the error of a failure that an earlier process saw. */
export function recallFailure({ code, message, at }: CachedFailure): GatewayError {
  const kind = [NEEDS_AUTH, MISSING_VARIABLE].find((one) => one.code === code) ?? CONNECT_FAILED;
  return new GatewayError(kind, `${message} That was ${formatAge(Date.now() - at)} ago.`);
}

function formatAge(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1_000));
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`;
}

/** Creates the snapshot of a config. Each config has its own: gateways with other servers must not overwrite it. */
export function createSnapshot(cache: Pick<Cache, "get" | "set">, config: string): CatalogSnapshot {
  const key = `catalog_${sha256Hex(config).slice(0, 16)}`;
  const listings = new Map<string, CachedListing>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<void> = Promise.resolve();
  let isDirty = false;

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    // One after another: of two writes at once, the older could be the last to finish.
    writing = writing.then(async () => {
      if (!isDirty) return;
      isDirty = false;
      await cache.set(key, Object.fromEntries(listings), MAX_AGE_MS);
    });
    return writing;
  };

  return {
    async load() {
      const stored = await cache.get(key);
      for (const [server, value] of Object.entries(isJsonObject(stored) ? stored : {})) {
        const listing = parseCachedListing(value);
        if (!listing || listings.has(server) || Date.now() - listing.savedAt > MAX_AGE_MS) continue;
        listings.set(server, listing);
      }
      return new Map(listings);
    },
    set(server, listing) {
      listings.set(server, listing);
      isDirty = true;
      timer ??= setTimeout(() => void flush(), WRITE_DELAY_MS);
      timer.unref?.();
    },
    flush,
  };
}
