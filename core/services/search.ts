import type { GatewayError } from "../errors.ts";
import type { MaybePromise } from "../hooks.ts";
import type { JsonObject, Tool } from "../tool.ts";

/** Searches the catalog. Provided by the plugin `search`. */
export type Search = (query: string, options?: RankOptions) => Promise<Ranking>;

/** Saves and restores the index of a ranker, so that the next start need not read the tools again. */
export interface IndexSnapshot {
  /** Number of tools that were read because the loaded snapshot did not have them. */
  readonly fresh: number;
  /** Serializes the index, for `load` of another ranker of this name. */
  save(): Uint8Array;
  /**
   * Loads a saved index before the tools come; only entries of unchanged tools are used. Returns false if the bytes
   * are of another kind or version. The caller must make sure that they are as they were saved.
   */
  load(bytes: Uint8Array): boolean;
}

/** Tool that fits a query. */
export interface Hit {
  readonly tool: Tool;
  /** Between 0 and 1. */
  readonly relevance: number;
  /** Origin of the relevance, if `explain` was set. */
  readonly why?: Explanation;
}

/** Origin of the relevance of a hit. */
export interface Explanation {
  /** Score of each scorer by its name; a ranker without scorers names itself. */
  readonly scores: Readonly<Record<string, number>>;
  /** Words of the query that were found, the weightiest first. */
  readonly terms: readonly MatchedTerm[];
}

/** Word of the query that was found in a tool. */
export interface MatchedTerm {
  readonly term: string;
  /** Part of the tool with the word: its name, description, server, a parameter, a tag. */
  readonly field: string;
  /** Its contribution to the score. */
  readonly share: number;
}

/** Limits of a ranking. */
export interface RankOptions {
  /** Only tools of this server. */
  readonly server?: string | undefined;
  /** Maximal number of hits; 10 by default. */
  readonly limit?: number | undefined;
  /** Whether each hit has a `why`. */
  readonly explain?: boolean | undefined;
  /** Whether disabled tools that fit are counted. The plugin `search` does that; a ranker knows only enabled tools. */
  readonly countDisabled?: boolean | undefined;
}

/** Answer to a query. */
export interface Ranking {
  /** The tools that fit, best first. */
  readonly hits: readonly Hit[];
  /** The closest tools if nothing fits: they suggest other words. */
  readonly nearest: readonly Tool[];
  /** Number of disabled tools that would be among the hits if they were enabled, if they were to be counted. */
  readonly disabled?: number | undefined;
}

/** Finds the tools that fit a query, best first. */
export interface Ranker {
  readonly name: string;
  /** Replaces the tools of one server; an empty list removes it. */
  update(server: string, tools: readonly Tool[]): void;
  /** Ranks the tools that fit. The same tools and the same query give the same answer. */
  rank(query: string, options?: RankOptions): MaybePromise<Ranking>;
  /** Saves and restores the index, where reading the tools again would take longer. */
  readonly snapshot?: IndexSnapshot | undefined;
}

/**
 * Creates a ranker. The options are those of the plugin `search` or, for `ranker: { type, ... }`, those beside the type.
 *
 * @example
 * ```ts
 * import type { RankerDriver } from "toolpipe/services";
 *
 * const byName: RankerDriver = () => {
 *   const servers = new Map();
 *   return {
 *     name: "by-name",
 *     update: (server, tools) => void servers.set(server, tools),
 *     rank: (query) => ({
 *       hits: [...servers.values()].flat().filter(({ name }) => name === query).map((tool) => ({ tool, relevance: 1 })),
 *       nearest: [],
 *     }),
 *   };
 * };
 * export default byName;
 * ```
 */
export type RankerDriver = (options: Readonly<JsonObject>, parts: RankerParts) => MaybePromise<Ranker>;

/** Dependencies that a ranker gets from its gateway. */
export interface RankerParts {
  /** The configured embedder; the built-in one if there is none. */
  readonly embedder?: Embedder | undefined;
  /** Stores vectors that cost time or money. */
  readonly cache?: VectorStorage | undefined;
  /** Called once for each way in which an embedder fails. */
  readonly onTrouble?: ((error: GatewayError) => void) | undefined;
}

/** The part of the cache that rankers use. */
export interface VectorStorage {
  get(key: string): Promise<unknown>;
  set(key: string, value: unknown, ttlMs: number): Promise<void>;
}

/** Creates an embedder. The options are those beside `type` in `embedding.embedder`. */
export type EmbedderDriver = (options: Readonly<JsonObject>) => MaybePromise<Embedder>;

/** Turns queries and tools into vectors, which are similar if the meanings are. */
export interface Embedder {
  readonly name: string;
  /** Length of its vectors; unknown before the first answer where a server decides it. */
  readonly dimensions: number | undefined;
  /** Changes with everything that changes a vector: vectors are cached by it. */
  readonly hash: string;
  /** Whether it answers synchronously, so that single vectors are not worth caching. */
  readonly isSync?: boolean;
  /** Returns a vector of length 1 for each query; one of zeros if no word of it is known. */
  embedQueries(queries: readonly string[], signal?: AbortSignal): MaybePromise<readonly Float32Array[]>;
  /** Returns a vector of length 1 for each tool; one of zeros if no word of it is known. */
  embedTools(tools: readonly Tool[], signal?: AbortSignal): MaybePromise<readonly Float32Array[]>;
  /** Returns the string that a tool is embedded by, if it depends on nothing else. */
  textOf?(tool: Tool): string;
  /** Converts a cosine to a relevance between 0 and 1. */
  relevance?(cosine: number): number;
  /** Contribution of each word of a query to the product with a vector. */
  explain?(query: string, vector: Float32Array): readonly { readonly word: string; readonly share: number }[];
}
