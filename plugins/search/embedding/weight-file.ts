import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { endianness } from "node:os";
import { sha256Hex } from "../../lib/hash.ts";
import { fieldNames } from "./words.ts";

/**
 * The weights of the static model, as `playground/train/export.py` writes them. All numbers are
 * little-endian, and each part begins at a multiple of four bytes:
 *
 *     8 bytes        "TOOLVEC" and the version of the format, the character "1"
 *     32 bytes       SHA-256 of everything that follows
 *     u32 x 2        dimensions, and rows: one for each word
 *     f32 x 2        the cosine that is as likely right as wrong, and how steeply that changes
 *     f32 x 5        the weight of each part of a tool: name, server, first sentence, rest, parameters
 *     u32 x rows     the hash of each word; the words themselves are not needed
 *     f32 x rows     what a row is multiplied by in a query: its scale and its weight there
 *     f32 x rows     the same in a tool
 *     i8 x rows x dimensions  the vectors
 */
export interface Weights {
  readonly dimensions: number;
  readonly rows: number;
  /** Changes with everything that changes a vector. */
  readonly hash: string;
  readonly middle: number;
  readonly steepness: number;
  readonly fields: Float32Array;
  readonly hashes: Uint32Array;
  readonly queryFactors: Float32Array;
  readonly toolFactors: Float32Array;
  /** Reads the vectors of some rows, one after another: all that is read of the file for them. */
  rowVectors(rows: readonly number[]): Int8Array;
  /** Reads the vectors of all rows; throws if the file is damaged. Released with the last reference to them. */
  allVectors(): Int8Array;
  close(): void;
}

const MAGIC = "TOOLVEC1";
const DIGEST = 32;
const HEAD = MAGIC.length + DIGEST + 4 * (4 + fieldNames.length);
/** Nearly all of the file are vectors, of which a query needs a few. */
const MOST_KEPT_ROWS = 2_000;

/**
 * Reads all but the vectors; throws where the file is missing, of another version or not of the length it should
 * have. Whether it is whole is known only once all vectors are read, as they are for tools of which none are kept.
 */
export function readWeights(file: URL): Weights {
  if (endianness() !== "LE") throw new Error("This machine stores numbers in the other order.");
  // It stays open: another one may be put in its place while we run, and its rows would be of other words.
  const handle = openSync(file, "r");
  try {
    return weightsIn(handle);
  } catch (thrown) {
    closeSync(handle);
    throw thrown;
  }
}

function weightsIn(handle: number): Weights {
  const read = reader(handle);
  const { size } = fstatSync(handle);
  const head = read(0, HEAD);
  if (Buffer.from(head).toString("latin1", 0, MAGIC.length) !== MAGIC)
    throw new Error("It is not a weight file of this version.");
  const begin = MAGIC.length + DIGEST;
  const digest = Buffer.from(head, MAGIC.length, DIGEST).toString("hex");
  const [dimensions = 0, rows = 0] = new Uint32Array(head, begin, 2);
  const [middle = 0, steepness = 0] = new Float32Array(head, begin + 8, 2);
  const vectorsAt = HEAD + rows * 12;
  if (size !== vectorsAt + rows * dimensions) throw new Error("It is damaged.");
  const tables = read(HEAD, rows * 12);
  return {
    dimensions,
    rows,
    hash: digest,
    middle,
    steepness,
    fields: new Float32Array(head, begin + 16, fieldNames.length),
    hashes: new Uint32Array(tables, 0, rows),
    queryFactors: new Float32Array(tables, rows * 4, rows),
    toolFactors: new Float32Array(tables, rows * 8, rows),
    close: () => closeSync(handle),
    rowVectors: rowReader(read, vectorsAt, dimensions),
    allVectors: heldLoosely(() => {
      const all = read(begin, size - begin);
      if (sha256Hex(new Uint8Array(all)) !== digest) throw new Error("It is damaged.");
      return new Int8Array(all, vectorsAt - begin);
    }),
  };
}

type Read = (at: number, length: number) => ArrayBuffer;

function reader(handle: number): Read {
  return (at, length) => {
    const bytes = new Uint8Array(length);
    for (let done = 0; done < length; ) {
      const count = readSync(handle, bytes, done, length - done, at + done);
      if (count === 0) throw new Error("It is damaged.");
      done += count;
    }
    return bytes.buffer;
  };
}

/** Tools come all at once and then seldom, and the vectors are many megabytes. */
function heldLoosely(read: () => Int8Array): () => Int8Array {
  let held: WeakRef<Int8Array> | undefined;
  return () => {
    const known = held?.deref();
    if (known) return known;
    const made = read();
    held = new WeakRef(made);
    return made;
  };
}

function rowReader(
  read: Read,
  vectorsAt: number,
  dimensions: number,
): (rows: readonly number[]) => Int8Array {
  const kept = new Map<number, Int8Array>();
  const getRow = (row: number): Int8Array => {
    const known = kept.get(row);
    if (known) return known;
    if (kept.size >= MOST_KEPT_ROWS) kept.clear();
    const made = new Int8Array(read(vectorsAt + row * dimensions, dimensions));
    kept.set(row, made);
    return made;
  };
  return (rows) => {
    const vectors = new Int8Array(rows.length * dimensions);
    rows.forEach((row, place) => {
      vectors.set(getRow(row), place * dimensions);
    });
    return vectors;
  };
}
