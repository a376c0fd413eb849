import { createHash } from "node:crypto";
import type { Cache } from "../../cache/mod.ts";
import type { Keeping } from "./keeping.ts";

/** Keeps what a ranker has read, from one start to the next. */
export interface Keeper {
  /** What was kept, if it is there and whole. */
  read(): Promise<Uint8Array | undefined>;
  /** A search has been answered by this ranker, which knows so many tools: what it has read is kept a moment later. */
  note(keeping: Keeping, tools: number): void;
  /** Keeps what is not kept yet. */
  close(): Promise<void>;
}

/** While servers come in one after another, not every one of them is worth writing all of it. */
const WRITE_DELAY_MS = 2_000;
const KEEP_MS = 30 * 24 * 3600 * 1000;
/** So few are read as quickly as a file. */
const LEAST_TOOLS = 50;
/** Less than this share of the tools is read again sooner than all are written. */
const LEAST_SHARE = 1 / 20;
/** About a quarter of a million tools. What is more would fill disks. */
const MOST_BYTES = 256 * 1024 * 1024;

/** Keeps it in a cache, for the gateway of this config: one of them for each, whichever ranker it is of. */
export function createKeeper(cache: Cache, owner: string, delayMs: number = WRITE_DELAY_MS): Keeper {
  const key = `search_${createHash("sha256").update(owner).digest("hex").slice(0, 16)}`;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let waiting: Keeping | undefined;
  let writing: Promise<void> = Promise.resolve();

  const flush = (): Promise<void> => {
    clearTimeout(timer);
    timer = undefined;
    const keeping = waiting;
    waiting = undefined;
    if (!keeping) return writing;
    const bytes = bytesOf(keeping);
    if (!bytes || bytes.length > MOST_BYTES) return writing;
    // One after another: of two at once, the older could be the last to be done.
    writing = writing.then(() => cache.setBytes(key, bytes, KEEP_MS));
    return writing;
  };

  return {
    read: () => cache.getBytes(key),
    note(keeping, tools) {
      if (waiting || tools < LEAST_TOOLS || keeping.fresh < tools * LEAST_SHARE) return;
      waiting = keeping;
      timer = setTimeout(() => void flush(), delayMs);
      timer.unref?.();
    },
    close: flush,
  };
}

/** A ranker of somebody else may fail at it, and is none the worse for that. */
function bytesOf(keeping: Keeping): Uint8Array | undefined {
  try {
    return keeping.save();
  } catch {
    return undefined;
  }
}
