import { GatewayError, type Tool } from "../../../core/mod.ts";
import type { Embedder } from "../../../core/services/search.ts";
import { EMBEDDER_UNAVAILABLE } from "../drivers.ts";

/** Creates the error for an embedder that does not work. */
export function unavailable(embedder: string, why: string, cause?: unknown): GatewayError {
  return new GatewayError(
    EMBEDDER_UNAVAILABLE,
    `The embedder "${embedder}" cannot be used: ${why}. Search goes on without it.`,
    { cause, data: { embedder } },
  );
}

/** Checks vectors from outside: as many as texts, of one length, finite and not zero. Returns them with length 1. */
export function checkVectors(
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
    const length = vectorLength(vector);
    if (!(length > 0 && Number.isFinite(length)))
      throw unavailable(embedder, "it answered with a vector that points nowhere");
    return toUnit(vector);
  });
}

/** Euclidean length of a vector. */
export function vectorLength(vector: Float32Array): number {
  let sum = 0;
  for (let index = 0; index < vector.length; index++) sum += (vector[index] as number) ** 2;
  return Math.sqrt(sum);
}

/** Scales a vector to length 1; one of zeros stays as it is. */
export function toUnit(vector: Float32Array): Float32Array {
  const length = vectorLength(vector);
  return length > 0 ? vector.map((value) => value / length) : vector;
}

const MAX_TOOL_TEXT = 1_000;

/** Describes a tool as one text, for models that read texts: its name in words, and its description. */
function toolText(tool: Tool): string {
  const name = tool.name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").replace(/[^\p{L}\p{N}]+/gu, " ");
  const about = (tool.description ?? tool.title ?? "").slice(0, MAX_TOOL_TEXT).trim();
  return [`${tool.server} ${name.trim()}`, about].filter((part) => part !== "").join(": ");
}

/** Embeds queries and tools as texts, each with the prefix that the model needs. */
export function embedTexts(
  embed: (texts: readonly string[], signal?: AbortSignal) => Promise<readonly Float32Array[]>,
  prefixes: { readonly queryPrefix: string; readonly toolPrefix: string },
): Pick<Embedder, "embedQueries" | "embedTools" | "textOf"> {
  const add = (prefix: string, texts: readonly string[]) => texts.map((text) => prefix + text);
  return {
    embedQueries: (queries, signal) => embed(add(prefixes.queryPrefix, queries), signal),
    embedTools: (tools, signal) => embed(add(prefixes.toolPrefix, tools.map(toolText)), signal),
    textOf: toolText,
  };
}

/** State of an embedder that may fail. */
export interface Availability {
  /** Whether it failed so recently that it is not asked now. */
  readonly isPaused: boolean;
  failed(thrown: unknown): void;
  succeeded(): void;
}

/** A failed embedder is not asked for so long: searches would wait for it in vain. */
const PAUSE_MS = 30_000;

/** Tracks failures, and reports each kind of failure once. */
export function trackAvailability(
  { name, isSync }: Embedder,
  onTrouble: ((error: GatewayError) => void) | undefined,
): Availability {
  const reported = new Set<string>();
  let pausedUntil = 0;
  return {
    get isPaused() {
      return Date.now() < pausedUntil;
    },
    failed(thrown) {
      // One that needs only its own files does not recover.
      pausedUntil = isSync ? Number.POSITIVE_INFINITY : Date.now() + PAUSE_MS;
      const why = (thrown as Error | undefined)?.name === "TimeoutError" ? "it took too long" : "it failed";
      const error =
        GatewayError.is(thrown) && thrown.code === EMBEDDER_UNAVAILABLE.code
          ? thrown
          : unavailable(name, GatewayError.is(thrown) ? toClause(thrown.message) : why, thrown);
      if (reported.has(error.message)) return;
      reported.add(error.message);
      onTrouble?.(error);
    },
    succeeded() {
      pausedUntil = 0;
    },
  };
}

/** Makes a message of ours part of another sentence. */
function toClause(message: string): string {
  return message.replace(/\.$/, "").replace(/^[A-Z](?=[a-z])/, (letter) => letter.toLowerCase());
}
