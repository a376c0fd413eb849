import type { Tool } from "../../../core/mod.ts";
import { lengthOf, toUnit } from "./_vectors.ts";
import { readWeights, type Weights } from "./weight-file.ts";
import { fieldNames, fieldsOf, rowsOf, type Vocabulary, wordHash, wordLimits } from "./words.ts";

/** The static model: a vector for each word, and sums of them for texts. Needs no download and no native code. */
export interface Toolvec {
  readonly dimensions: number;
  /** Changes with everything that changes a vector. */
  readonly hash: string;
  /** Throws where the weights that tools need are damaged. */
  check(): void;
  /** Lets go of the file. */
  close(): void;
  /** How likely a tool of this cosine is the right one, by itself. */
  relevance(cosine: number): number;
  /** A vector of length 1, or of nothing but zeros for a text without a word that is known. */
  query(text: string): Float32Array;
  /** The same for a tool. */
  tool(tool: Tool): Float32Array;
  /** What each word of a query adds to its vector. */
  shares(text: string): readonly WordVector[];
}

/** A word of a query, and what it adds to the vector of the query. */
export interface WordVector {
  readonly word: string;
  readonly vector: Float32Array;
}

/** Where the weights are, beside the sources and beside what is built of them. */
export const weightFile: URL = new URL("./toolvec.bin", import.meta.url);

/** Reads the static model; throws where its weights cannot be used. */
export function toolvec(file: URL = weightFile): Toolvec {
  const weights = readWeights(file);
  const { dimensions, hash, middle, steepness, fields, queryFactors, toolFactors } = weights;
  const vocabulary = vocabularyOf(weights);
  const add = adder(dimensions);
  const queryRows = (text: string, heard?: Parameters<typeof rowsOf>[3]): number[] =>
    rowsOf(text, wordLimits.query, vocabulary, heard);

  return {
    dimensions,
    hash,
    check: () => void weights.allVectors(),
    close: weights.close,
    relevance: (cosine) => 1 / (1 + Math.exp((middle - cosine) * steepness)),
    query(text) {
      const sum = new Float32Array(dimensions);
      const rows = queryRows(text);
      add(sum, { vectors: weights.rowVectors(rows), rows }, queryFactors, 1);
      return toUnit(sum);
    },
    tool(tool) {
      const sum = new Float32Array(dimensions);
      const vectors = weights.allVectors();
      const texts = fieldsOf(tool);
      fieldNames.forEach((field, index) => {
        const rows = rowsOf(texts[field], wordLimits[field], vocabulary);
        const factor = (fields[index] ?? 0) / Math.sqrt(rows.length);
        if (rows.length > 0) add(sum, { vectors, rows, places: rows }, toolFactors, factor);
      });
      return toUnit(sum);
    },
    shares(text) {
      const heard: { word: string; from: number; to: number }[] = [];
      const rows = queryRows(text, (word, from, to) => heard.push({ word, from, to }));
      const vectors = weights.rowVectors(rows);
      const sum = new Float32Array(dimensions);
      add(sum, { vectors, rows }, queryFactors, 1);
      const length = lengthOf(sum);
      return heard.map(({ word, from, to }) => {
        const vector = new Float32Array(dimensions);
        const own = { vectors: vectors.subarray(from * dimensions), rows: rows.slice(from, to) };
        if (length > 0) add(vector, own, queryFactors, 1 / length);
        return { word, vector };
      });
    },
  };
}

/** Rows to be added up, and where their vectors are: one after another where no places are given. */
interface Summands {
  readonly vectors: Int8Array;
  readonly rows: readonly number[];
  readonly places?: readonly number[];
}

/** Adds rows to a sum, each by its factor: four at a time, because reading and writing the sum costs most. */
function adder(dimensions: number) {
  return (
    sum: Float32Array,
    { vectors, rows, places }: Summands,
    factors: Float32Array,
    factor: number,
  ): void => {
    // Behind the last row, the first one is added zero times.
    const begin = (place: number): number =>
      place < rows.length ? (places ? (places[place] as number) : place) * dimensions : 0;
    const weight = (place: number): number => (factors[rows[place] ?? -1] ?? 0) * factor;
    for (let place = 0; place < rows.length; place += 4) {
      const [atA, atB, atC, atD] = [begin(place), begin(place + 1), begin(place + 2), begin(place + 3)];
      const [a, b, c, d] = [weight(place), weight(place + 1), weight(place + 2), weight(place + 3)];
      for (let index = 0; index < dimensions; index++) {
        sum[index] =
          (sum[index] as number) +
          a * (vectors[atA + index] as number) +
          b * (vectors[atB + index] as number) +
          c * (vectors[atC + index] as number) +
          d * (vectors[atD + index] as number);
      }
    }
  };
}

/** Finds rows by the hashes of words, in an open table: strings for so many words would take long to make. */
function vocabularyOf({ hashes, rows }: Weights): Vocabulary {
  const mask = 2 ** Math.ceil(Math.log2(rows * 2 + 1)) - 1;
  const table = new Int32Array(mask + 1).fill(-1);
  for (let row = 0; row < rows; row++) {
    let place = (hashes[row] as number) & mask;
    while (table[place] !== -1) place = (place + 1) & mask;
    table[place] = row;
  }
  return (word) => {
    const hash = wordHash(word);
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const row = table[place] as number;
      if (row === -1 || hashes[row] === hash) return row;
    }
  };
}
