import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { endianness } from "node:os";
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
  readonly vectors: Int8Array;
}

const MAGIC = "TOOLVEC1";
const DIGEST = 32;

/** Reads the weights; throws where the file is missing, of another version or damaged. */
export function readWeights(file: URL): Weights {
  const bytes = readFileSync(file);
  if (bytes.toString("latin1", 0, MAGIC.length) !== MAGIC)
    throw new Error("It is not a weight file of this version.");
  const begin = MAGIC.length + DIGEST;
  const digest = bytes.subarray(MAGIC.length, begin);
  if (!createHash("sha256").update(bytes.subarray(begin)).digest().equals(digest))
    throw new Error("It is damaged.");
  // A copy begins at a multiple of four, which views of numbers need and a pooled buffer may not.
  const { buffer, byteOffset } = bytes.byteOffset % 4 === 0 ? bytes : Uint8Array.from(bytes);
  if (endianness() !== "LE") throw new Error("This machine stores numbers in the other order.");
  let at = byteOffset + begin;
  const take = <T>(
    Type: { new (buffer: ArrayBufferLike, at: number, length: number): T; BYTES_PER_ELEMENT: number },
    length: number,
  ): T => {
    const view = new Type(buffer, at, length);
    at += length * Type.BYTES_PER_ELEMENT;
    return view;
  };
  const [dimensions = 0, rows = 0] = take(Uint32Array, 2);
  const [middle = 0, steepness = 0] = take(Float32Array, 2);
  return {
    dimensions,
    rows,
    hash: digest.toString("hex"),
    middle,
    steepness,
    fields: take(Float32Array, fieldNames.length),
    hashes: take(Uint32Array, rows),
    queryFactors: take(Float32Array, rows),
    toolFactors: take(Float32Array, rows),
    vectors: take(Int8Array, rows * dimensions),
  };
}
