import { join } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { Cache } from "../../core/services/cache.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import { getErrorCode, makeFolder } from "../lib/files.ts";
import { cacheFolder } from "../lib/folders.ts";
import type { RegistryClient } from "./client.ts";
import { writeEntry } from "./entry.ts";
import { registryUnavailable } from "./request.ts";
import {
  keepLatest,
  type MirrorSnapshot,
  mergeEntries,
  nextSyncTime,
  parseMirrorSnapshot,
  readMirrorSnapshot,
  toFileName,
  writeMirrorSnapshot,
} from "./snapshot.ts";

/** The copy of the registries. */
interface MirrorContent {
  /** One entry a server, deleted ones too; of the most trusted registry that has it. */
  readonly entries: readonly RegistryEntry[];
  /** The time of the oldest sync; undefined if a registry was never synced. */
  readonly syncedAt: number | undefined;
}

/** Progress of a sync. */
interface SyncProgress {
  readonly registry: string;
  readonly servers: number;
  readonly pages: number;
}

/** Outcome of the sync with one registry. */
export interface SyncReport {
  readonly registry: string;
  /** Whether everything was asked for, and not only changes. */
  readonly isFull: boolean;
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

interface SyncOptions {
  /** Asks for everything, and not only for changes. */
  readonly full?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ((progress: SyncProgress) => void) | undefined;
}

/** A copy of registries on this machine. */
export interface Mirror {
  /** Reads the copy; undefined if there was never a sync. */
  read(): Promise<MirrorContent | undefined>;
  /** Asks the registries for changes. A registry that fails does not affect the others; its copy stays as it was. */
  sync(options?: SyncOptions): Promise<{ reports: readonly SyncReport[]; troubles: readonly GatewayError[] }>;
}

/** Dependencies of {@link createMirror}. */
export interface MirrorParts {
  readonly client: Pick<RegistryClient, "registries" | "pages">;
  /** The user's cache folder by default. */
  readonly folder?: string | undefined;
  /** A cache that gateways on several machines share: the copy that one of them made serves all. */
  readonly shared?: Pick<Cache, "get" | "set"> | undefined;
  /** Milliseconds since 1970, for tests. */
  readonly now?: () => number;
  /** Largest list of one registry; 256,000,000 bytes by default. */
  readonly maxBytes?: number;
}

/** A shared copy that was not renewed for this long is dropped. */
const SHARED_MS = 30 * 86_400_000;
const textKey = (registry: string): string => `registry-mirror_${toFileName(registry)}`;
const timeKey = (registry: string): string => `registry-mirror-time_${toFileName(registry)}`;

/** Creates a mirror of the registries of a client. */
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
      const snapshots = await Promise.all(client.registries.map(readNewest));
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
          troubles.push(registryUnavailable(registry, thrown));
        }
      }
      return { reports, troubles };
    },
  };

  /** Reads the snapshot of this machine, or a newer one of another. */
  async function readNewest(registry: string): Promise<MirrorSnapshot | undefined> {
    const own = await readMirrorSnapshot(folder, registry);
    // The time first: the snapshot may have many megabytes.
    const at = await shared?.get(timeKey(registry), { stored: true });
    if (typeof at !== "number" || at <= (own?.syncedAt ?? 0)) return own;
    const text = await shared?.get(textKey(registry), { stored: true });
    const other = typeof text === "string" ? parseMirrorSnapshot(text, registry) : undefined;
    if (!other || other.syncedAt <= (own?.syncedAt ?? 0)) return own;
    // A failed write only means that it is fetched again.
    await writeMirrorSnapshot(folder, other).catch(() => {});
    return other;
  }

  async function syncOne(
    registry: string,
    { full = false, signal, onProgress }: SyncOptions,
  ): Promise<SyncReport> {
    const before = await readNewest(registry);
    const since = full ? undefined : before?.since;
    await checkFolder();
    const found = new Map<string, RegistryEntry>();
    let startedAt: number | undefined;
    let dropped = 0;
    let pages = 0;
    let size = 0;
    let isWhole = false;
    for await (const page of client.pages(registry, { updatedSince: since, version: "latest", signal })) {
      startedAt ??= page.at ?? now();
      for (const entry of page.entries) {
        keepLatest(found, entry);
        size += JSON.stringify(writeEntry(entry)).length;
      }
      dropped += page.dropped;
      isWhole = page.cursor === undefined;
      onProgress?.({ registry, servers: found.size, pages: ++pages });
      if (size > maxBytes) break;
    }
    const { entries, added, changed } = mergeEntries(
      since === undefined ? undefined : before,
      before,
      found,
      isWhole,
    );
    const snapshot = {
      registry,
      entries,
      since: isWhole ? nextSyncTime(entries, startedAt ?? now()) : undefined,
      syncedAt: now(),
    };
    const text = await writeMirrorSnapshot(folder, snapshot);
    await shared?.set(textKey(registry), text, SHARED_MS);
    await shared?.set(timeKey(registry), snapshot.syncedAt, SHARED_MS);
    const count = (status: RegistryEntry["status"]): number =>
      [...entries.values()].filter((entry) => entry.status === status).length;
    return {
      registry,
      isFull: since === undefined,
      isWhole,
      total: entries.size,
      added,
      changed,
      deprecated: count("deprecated"),
      deleted: count("deleted"),
      dropped,
    };
  }

  /** Fails before a registry is read for minutes, and not after. */
  async function checkFolder(): Promise<void> {
    try {
      await makeFolder(folder);
    } catch (cause) {
      const why = getErrorCode(cause) ?? "the system refused it";
      throw new GatewayError("CONFIG_INVALID", `Cannot keep the list of a registry in ${folder} (${why}).`, {
        cause,
      });
    }
  }
}
