import {
  defineError,
  type ErrorKind,
  GatewayError,
  type MaybePromise,
  type Tool,
} from "../../../core/mod.ts";
import { lengthOf, toUnit } from "./_vectors.ts";

/** Turns queries and tools into vectors that point the same way where they mean the same. */
export interface Embedder {
  readonly name: string;
  /** How long its vectors are; not known before the first answer where a server decides it. */
  readonly dimensions: number | undefined;
  /** Changes with everything that changes a vector, so that vectors can be kept by it. */
  readonly hash: string;
  /** Whether it answers at once, so that its vectors are not worth keeping. */
  readonly prompt?: boolean;
  /** A vector of length 1 for each text; one of zeros where nothing in the text is known. */
  embedQueries(texts: readonly string[], signal?: AbortSignal): MaybePromise<readonly Float32Array[]>;
  /** The same for tools. */
  embedTools(tools: readonly Tool[], signal?: AbortSignal): MaybePromise<readonly Float32Array[]>;
  /** The text a tool is known by, if nothing else of it counts. */
  textOf?(tool: Tool): string;
  /** How likely a tool with such a cosine is the right one, between 0 and 1. */
  relevance?(cosine: number): number;
  /** How much each word of a query has to do with a vector. */
  explain?(query: string, vector: Float32Array): readonly { readonly word: string; readonly share: number }[];
}

/** Search goes on without vectors. */
export const EMBEDDER_UNAVAILABLE: ErrorKind = defineError("EMBEDDER_UNAVAILABLE");

/** The error for an embedder that cannot be used. */
export function unavailable(embedder: string, why: string, cause?: unknown): GatewayError {
  return new GatewayError(
    EMBEDDER_UNAVAILABLE,
    `The embedder "${embedder}" cannot be used: ${why}. Search goes on without it.`,
    { cause, data: { embedder } },
  );
}

/** Vectors as a stranger sent them, made sure of: all are there, of one length, made of numbers, and not zero. */
export function checkedVectors(
  embedder: string,
  vectors: readonly ArrayLike<number>[],
  count: number,
  dimensions: number | undefined,
): readonly Float32Array[] {
  if (vectors.length !== count)
    throw unavailable(embedder, `it answered with ${vectors.length} vectors for ${count} texts`);
  const expected = dimensions ?? vectors[0]?.length ?? 0;
  return vectors.map((numbers) => {
    if (numbers.length !== expected || expected === 0) {
      const lengths = `${numbers.length} numbers in place of ${expected}`;
      throw unavailable(embedder, `it answered with a vector of ${lengths}`);
    }
    const vector = Float32Array.from(numbers);
    const length = lengthOf(vector);
    if (!(length > 0 && Number.isFinite(length)))
      throw unavailable(embedder, "it answered with a vector that points nowhere");
    return toUnit(vector);
  });
}
