import { join } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { Cache } from "../cache/mod.ts";
import { cacheFolder } from "../state/mod.ts";
import { keepLatest, merge, nextSince } from "./_merge.ts";
import { openPart, type Part } from "./_part.ts";
import { idOf, parseSnapshot, readSnapshot, type Snapshot, writeSnapshot } from "./_snapshot.ts";
import type { RegistryClient } from "./client.ts";
import type { RegistryEntry } from "./entry.ts";
import { unavailable } from "./request.ts";

/** What is known of the registries without asking them. */
export interface MirrorContent {
  /** One entry a server, deleted ones too; of the most trusted registry that has it. */
  readonly entries: readonly RegistryEntry[];
  /** When the registry that was asked longest ago was asked; nothing where one of them never was. */
  readonly syncedAt: number | undefined;
}

/** How far a sync has come. */
export interface SyncProgress {
  readonly registry: string;
  readonly servers: number;
  readonly pages: number;
}

/** What came of the sync with one registry. */
export interface SyncReport {
  readonly registry: string;
  /** Whether everything was asked for, and not only what has changed. */
  readonly isFull: boolean;
  /** Whether it went on where an earlier one had ended. */
  readonly isResumed: boolean;
  /** Whether the registry's list came to an end. */
  readonly isWhole: boolean;
  readonly total: number;
  readonly added: number;
  readonly changed: number;
  readonly deprecated: number;
  readonly deleted: number;
  /** Entries that could not be used. */
  readonly dropped: number;
}

/** How a sync is made. */
export interface SyncOptions {
  /** Asks for everything, whatever is known. */
  readonly full?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: SyncProgress) => void) | undefined;
}

/** A copy of registries on this machine. */
export interface Mirror {
  /** Reads what is there; nothing where there was never a sync. */
  read(): Promise<MirrorContent | undefined>;
  /** Asks the registries for what is new. One that cannot be asked does not cost the others. */
  sync(options?: SyncOptions): Promise<{ reports: readonly SyncReport[]; troubles: readonly GatewayError[] }>;
}

/** What a mirror is made of. */
export interface MirrorParts {
  readonly client: Pick<RegistryClient, "registries" | "pages">;
  /** The person's cache folder by default. */
  readonly folder?: string | undefined;
  /** What gateways on many machines share: a copy that one of them made is the others' too. */
  readonly shared?: Pick<Cache, "get" | "set"> | undefined;
  /** Milliseconds since 1970, for tests. */
  readonly now?: () => number;
  /** How large the list of one registry may become; 256,000,000 bytes by default. */
  readonly maxBytes?: number;
}

/** A copy that nobody has renewed for so long is not worth much. */
const SHARED_MS = 30 * 86_400_000;
const textKey = (registry: string): string => `registry-mirror_${idOf(registry)}`;
const timeKey = (registry: string): string => `registry-mirror-time_${idOf(registry)}`;

/** Makes a mirror of the registries of a client. */
export function createMirror(parts: MirrorParts): Mirror {
  const {
    client,
    folder = join(cacheFolder(), "registry"),
    now = Date.now,
    maxBytes = 256_000_000,
    shared,
  } = parts;

  return {
    async read() {
      const snapshots = await Promise.all(client.registries.map(newest));
      const there = snapshots.filter((snapshot) => snapshot !== undefined);
      if (there.length === 0) return undefined;
      const all = new Map<string, RegistryEntry>();
      for (const { entries } of there)
        for (const [name, entry] of entries) if (!all.has(name)) all.set(name, entry);
      const oldest = Math.min(...there.map(({ syncedAt }) => syncedAt));
      return { entries: [...all.values()], syncedAt: there.length < snapshots.length ? undefined : oldest };
    },
    async sync(options = {}) {
      const reports: SyncReport[] = [];
      const troubles: GatewayError[] = [];
      for (const registry of client.registries) {
        try {
          reports.push(await syncOne(registry, options));
        } catch (thrown) {
          if (options.signal?.aborted) throw thrown;
          if (GatewayError.is(thrown) && thrown.code === "CONFIG_INVALID") throw thrown;
          troubles.push(unavailable(registry, thrown));
        }
      }
      return { reports, troubles };
    },
  };

  /** What this machine knows, or what another has found out since. */
  async function newest(registry: string): Promise<Snapshot | undefined> {
    const own = await readSnapshot(folder, registry);
    // The time alone first: the text may have many megabytes.
    const at = await shared?.get(timeKey(registry), { stored: true });
    if (typeof at !== "number" || at <= (own?.syncedAt ?? 0)) return own;
    const text = await shared?.get(textKey(registry), { stored: true });
    const other = typeof text === "string" ? parseSnapshot(text, registry) : undefined;
    if (!other || other.syncedAt <= (own?.syncedAt ?? 0)) return own;
    // Where this machine cannot keep it, it is fetched again.
    await writeSnapshot(folder, other).catch(() => {});
    return other;
  }

  async function syncOne(registry: string, options: SyncOptions): Promise<SyncReport> {
    const before = await newest(registry);
    const since = options.full ? undefined : before?.since;
    const part = await openPart(folder, registry, since);
    try {
      return await follow(registry, before, since, part, options);
    } catch (thrown) {
      // A cursor may be too old to go on from; then everything is asked for again.
      const isStale = part.isResumed && GatewayError.is(thrown) && thrown.data["status"] === 400;
      if (!isStale) {
        await part.leave();
        throw thrown;
      }
      await part.remove();
    }
    const fresh = await openPart(folder, registry, since);
    try {
      return await follow(registry, before, since, fresh, options);
    } catch (thrown) {
      await fresh.leave();
      throw thrown;
    }
  }

  async function follow(
    registry: string,
    before: Snapshot | undefined,
    since: string | undefined,
    part: Part,
    { signal, onProgress }: SyncOptions,
  ): Promise<SyncReport> {
    const found = new Map<string, RegistryEntry>();
    for (const entry of part.entries) keepLatest(found, entry);
    let { startedAt } = part;
    let dropped = 0;
    let pages = 0;
    let size = 0;
    let isWhole = false;
    const list = { updatedSince: since, version: "latest", signal };
    for await (const page of client.pages(registry, list, part.cursor)) {
      const at = page.at ?? now();
      startedAt ??= at;
      for (const entry of page.entries) keepLatest(found, entry);
      dropped += page.dropped;
      isWhole = page.cursor === undefined;
      size = await part.add(page.entries, page.cursor, at);
      onProgress?.({ registry, servers: found.size, pages: ++pages });
      if (size > maxBytes) break;
    }
    const merged = merge(since === undefined ? undefined : before, before, found, isWhole);
    const snapshot = {
      registry,
      entries: merged.entries,
      since: isWhole ? nextSince(merged.entries, startedAt ?? now()) : undefined,
      syncedAt: now(),
    };
    const text = await writeSnapshot(folder, snapshot);
    await shared?.set(textKey(registry), text, SHARED_MS);
    await shared?.set(timeKey(registry), snapshot.syncedAt, SHARED_MS);
    await part.remove();
    const { added, changed } = merged;
    const isFull = since === undefined;
    const { isResumed } = part;
    const of = (status: RegistryEntry["status"]): number =>
      [...merged.entries.values()].filter((entry) => entry.status === status).length;
    const marked = { deprecated: of("deprecated"), deleted: of("deleted") };
    return {
      registry,
      isFull,
      isResumed,
      isWhole,
      total: merged.entries.size,
      added,
      changed,
      ...marked,
      dropped,
    };
  }
}
