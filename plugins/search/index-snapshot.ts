import type { Tool } from "../../core/mod.ts";
import type { Cache } from "../../core/services/cache.ts";
import type { IndexSnapshot } from "../../core/services/search.ts";
import { sha256Hex } from "../lib/hash.ts";

/** Numbers of any size can be read in place if they begin at a multiple of this. */
const ALIGNMENT = 8;
const LENGTH_BYTES = 4;
const COMBINED = "toolpipe-scorers-1";

/** Content that {@link writeBlocks} wrote. */
interface Blocks {
  /** The JSON value that describes the blocks. */
  readonly header: unknown;
  /** Views of the given bytes, aligned for numbers of any size. */
  readonly blocks: readonly Uint8Array<ArrayBuffer>[];
}

/** Writes a mark of kind and version, a header and arrays of numbers one after another. */
export function writeBlocks(
  mark: string,
  header: unknown,
  arrays: readonly (readonly ArrayBufferView[])[],
): Uint8Array {
  const lengths = arrays.map((parts) => parts.reduce((sum, { byteLength }) => sum + byteLength, 0));
  const text = Buffer.from(JSON.stringify({ mark, lengths, header }));
  let at = align(LENGTH_BYTES + text.length);
  const all = Buffer.alloc(lengths.reduce((sum, length) => sum + align(length), at));
  all.writeUInt32LE(text.length, 0);
  all.set(text, LENGTH_BYTES);
  for (const parts of arrays) {
    for (const { buffer, byteOffset, byteLength } of parts) {
      all.set(new Uint8Array(buffer, byteOffset, byteLength), at);
      at += byteLength;
    }
    at = align(at);
  }
  return all;
}

/** Reads blocks with this mark; undefined for another kind or version, and for an incomplete file. */
export function readBlocks(mark: string, given: Uint8Array): Blocks | undefined {
  if (given.length < LENGTH_BYTES) return;
  const { buffer, byteOffset, byteLength } =
    given.byteOffset % ALIGNMENT === 0 ? (given as Uint8Array<ArrayBuffer>) : Uint8Array.from(given);
  const all = Buffer.from(buffer, byteOffset, byteLength);
  const textLength = all.readUInt32LE(0);
  try {
    const read = JSON.parse(all.toString("utf8", LENGTH_BYTES, LENGTH_BYTES + textLength));
    if (read.mark !== mark) return;
    let at = align(LENGTH_BYTES + textLength);
    const blocks = (read.lengths as number[]).map((length) => {
      const block = new Uint8Array(buffer, byteOffset + at, length);
      at += align(length);
      return block;
    });
    return at === byteLength ? { header: read.header, blocks } : undefined;
  } catch {
    return;
  }
}

function align(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT;
}

/** Lists of tools never change, and several scorers ask for the digest of the same list. */
const digests = new WeakMap<readonly Tool[], string | undefined>();

/**
 * Hashes all that scorers read of these tools, in their order. Undefined where that is impossible, such as for a
 * schema object that refers to itself.
 */
export function digestTools(tools: readonly Tool[]): string | undefined {
  if (!digests.has(tools)) digests.set(tools, computeDigest(tools));
  return digests.get(tools);
}

function computeDigest(tools: readonly Tool[]): string | undefined {
  try {
    // More than is read, but serialized by the engine: to pick out what is read takes several times as long.
    const text = JSON.stringify(
      tools.map(({ server, name, title, description, inputSchema, tags, annotations }) => [
        server,
        name,
        title,
        description,
        inputSchema,
        tags,
        annotations?.title,
      ]),
    );
    return Buffer.from(sha256Hex(text), "hex").toString("base64");
  } catch {
    return undefined;
  }
}

/** Joins the snapshots of several scorers to one. */
export function combineSnapshots(
  scorers: readonly { readonly name: string; readonly snapshot?: IndexSnapshot | undefined }[],
): IndexSnapshot {
  const all = scorers.flatMap(({ name, snapshot }) => (snapshot ? [{ name, snapshot }] : []));
  return {
    get fresh() {
      return Math.max(0, ...all.map(({ snapshot }) => snapshot.fresh));
    },
    save: () =>
      writeBlocks(
        COMBINED,
        all.map(({ name }) => name),
        all.map(({ snapshot }) => [snapshot.save()]),
      ),
    load(bytes) {
      const read = readBlocks(COMBINED, bytes);
      if (!read) return false;
      const names = read.header as readonly string[];
      return all
        .map(({ name, snapshot }) => {
          const block = read.blocks[names.indexOf(name)];
          return block !== undefined && snapshot.load(block);
        })
        .every(Boolean);
    },
  };
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
export function createSnapshotStore(cache: Cache, config: string, delayMs: number = WRITE_DELAY_MS) {
  const key = `search_${sha256Hex(config).slice(0, 16)}`;
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
    /** Reads the stored bytes; undefined if there are none, or they are damaged. */
    read: () => cache.getBytes(key),
    /** Writes a snapshot a moment later, if enough of its tools are new. */
    schedule(snapshot: IndexSnapshot, tools: number) {
      if (scheduled || tools < MIN_TOOLS || snapshot.fresh < tools * MIN_FRESH) return;
      scheduled = snapshot;
      timer = setTimeout(() => void flush(), delayMs);
      timer.unref?.();
    },
    /** Writes what is scheduled. */
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
