import { createHash } from "node:crypto";
import type { Cache } from "../../../core/services/cache.ts";
import type { IndexSnapshot } from "../../../core/services/search.ts";

/** Stores the index of a ranker from one start to the next. */
export interface SnapshotStore {
  /** Reads the stored bytes; undefined if there are none, or they are damaged. */
  read(): Promise<Uint8Array | undefined>;
  /** Writes a snapshot a moment later, if enough of its tools are new. */
  schedule(snapshot: IndexSnapshot, tools: number): void;
  /** Writes what is scheduled. */
  close(): Promise<void>;
}

/** Servers come in one after another, and each would write the whole index. */
const WRITE_DELAY_MS = 2_000;
const TTL_MS = 30 * 24 * 3600 * 1000;
/** Fewer tools are read as quickly as a file. */
const MIN_TOOLS = 50;
/** Fewer new tools are read again sooner than all are written. */
const MIN_FRESH = 1 / 20;
/** About a quarter of a million tools. A larger file would fill disks. */
const MAX_BYTES = 256 * 1024 * 1024;

/** Stores one snapshot in the cache for the gateway of this config, whichever ranker it has. */
export function createSnapshotStore(
  cache: Cache,
  config: string,
  delayMs: number = WRITE_DELAY_MS,
): SnapshotStore {
  const key = `search_${createHash("sha256").update(config).digest("hex").slice(0, 16)}`;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let scheduled: IndexSnapshot | undefined;
  let writing: Promise<void> = Promise.resolve();

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const bytes = scheduled && serialize(scheduled);
    scheduled = undefined;
    if (!bytes || bytes.length > MAX_BYTES) return writing;
    // One after another: of two at once, the older could finish last.
    writing = writing.then(() => cache.setBytes(key, bytes, TTL_MS));
    return writing;
  };

  return {
    read: () => cache.getBytes(key),
    schedule(snapshot, tools) {
      if (scheduled || tools < MIN_TOOLS || snapshot.fresh < tools * MIN_FRESH) return;
      scheduled = snapshot;
      timer = setTimeout(() => void flush(), delayMs);
      timer.unref?.();
    },
    close: flush,
  };
}

/** A third-party ranker may fail to save; search works without. */
function serialize(snapshot: IndexSnapshot): Uint8Array | undefined {
  try {
    return snapshot.save();
  } catch {
    return undefined;
  }
}
