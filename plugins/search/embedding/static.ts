import type { Tool } from "../../../core/mod.ts";
import type { Embedder } from "../../../core/services/search.ts";
import { toUnit, unavailable, vectorLength } from "./embedder.ts";
import { readWeights, type Weights } from "./weight-file.ts";
import { fieldNames, findRows, readFields, type Vocabulary, wordHash, wordLimits } from "./words.ts";

/** File of the weights, beside the sources and beside the build. */
export const weightFile: URL = new URL("./toolvec.bin", import.meta.url);

// Weights never change, and several rankers in one process would each read and hold them.
const models = new Map<string, StaticModel>();

/** Creates the built-in embedder. Its weights are read when they are first needed. */
export function staticEmbedder(file: URL = weightFile): Embedder {
  const load = (isForTools = false): StaticModel => {
    try {
      const model = models.get(file.href) ?? loadStaticModel(file);
      models.set(file.href, model);
      if (isForTools) model.check();
      return model;
    } catch (cause) {
      // The file may be replaced by an intact one.
      models.get(file.href)?.close();
      models.delete(file.href);
      const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
      throw unavailable("static", `its weight file is ${isMissing ? "missing" : "damaged"}`, cause);
    }
  };
  return {
    name: "static",
    isSync: true,
    get dimensions() {
      return load().dimensions;
    },
    get hash() {
      return load().hash;
    },
    embedQueries: (texts) => texts.map(load().query),
    embedTools: (tools) => tools.map(load(true).tool),
    relevance: (cosine) => load().relevance(cosine),
    explain: (query, vector) =>
      load()
        .words(query)
        .map(({ word, vector: own }) => ({ word, share: dot(own, vector) })),
  };
}

/** Static model: a vector for each word, and sums of them for texts. Needs no download and no native code. */
export interface StaticModel {
  readonly dimensions: number;
  /** Changes with everything that changes a vector. */
  readonly hash: string;
  /** Throws if the weights that tools need are damaged. */
  check(): void;
  /** Closes the weight file. */
  close(): void;
  /** Estimates how likely a tool of this cosine is the right one, by itself. */
  relevance(cosine: number): number;
  /** Embeds a query: a vector of length 1, or zeros for a text without a known word. */
  query(text: string): Float32Array;
  /** Embeds a tool, with the same lengths. */
  tool(tool: Tool): Float32Array;
  /** Splits the vector of a query into the vectors of its words. */
  words(text: string): readonly { readonly word: string; readonly vector: Float32Array }[];
}

/** Reads the static model; throws if its weights cannot be used. */
export function loadStaticModel(file: URL = weightFile): StaticModel {
  const weights = readWeights(file);
  const { dimensions, hash, middle, steepness, fields, queryFactors, toolFactors } = weights;
  const vocabulary = createVocabulary(weights);
  const add = createAdder(dimensions);
  const queryRows = (text: string, onWord?: Parameters<typeof findRows>[3]): number[] =>
    findRows(text, wordLimits.query, vocabulary, onWord);

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
      const texts = readFields(tool);
      fieldNames.forEach((field, index) => {
        const rows = findRows(texts[field], wordLimits[field], vocabulary);
        const factor = (fields[index] ?? 0) / Math.sqrt(rows.length);
        if (rows.length > 0) add(sum, { vectors, rows, places: rows }, toolFactors, factor);
      });
      return toUnit(sum);
    },
    words(text) {
      const found: { word: string; from: number; to: number }[] = [];
      const rows = queryRows(text, (word, from, to) => found.push({ word, from, to }));
      const vectors = weights.rowVectors(rows);
      const sum = new Float32Array(dimensions);
      add(sum, { vectors, rows }, queryFactors, 1);
      const length = vectorLength(sum);
      return found.map(({ word, from, to }) => {
        const vector = new Float32Array(dimensions);
        const own = { vectors: vectors.subarray(from * dimensions), rows: rows.slice(from, to) };
        if (length > 0) add(vector, own, queryFactors, 1 / length);
        return { word, vector };
      });
    },
  };
}

/** Adds rows to a sum, each by its factor: four at a time, because reading and writing the sum costs most. */
function createAdder(dimensions: number) {
  return (
    sum: Float32Array,
    {
      vectors,
      rows,
      places,
    }: { readonly vectors: Int8Array; readonly rows: readonly number[]; readonly places?: readonly number[] },
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

/** Finds rows by the hashes of words, in an open table: strings for so many words would take long to create. */
function createVocabulary({ hashes, rows }: Weights): Vocabulary {
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

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < a.length; index++) sum += (a[index] as number) * (b[index] as number);
  return sum;
}
