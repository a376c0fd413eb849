import type { MaybePromise, Tool } from "../../core/mod.ts";
import type { IndexSnapshot, MatchedTerm } from "../../core/services/search.ts";

/** Scores tools on a scale of its own, which a fusion turns into a relevance. */
export interface Scorer {
  readonly name: string;
  /** Replaces the tools of one server; an empty list removes it. */
  update(server: string, tools: readonly Tool[]): void;
  /** Reads a query once, for all scores that are then asked for. */
  query(text: string): MaybePromise<QueryScores>;
  readonly snapshot?: IndexSnapshot | undefined;
}

/** Scores of tools for one query. */
export interface QueryScores {
  /** The tools that score best, best first, and of equals the lower id; of one server if it is given. */
  best(count: number, server?: string): readonly Scored[];
  /** Score of one tool; 0 if it has nothing of the query, or is unknown. */
  score(tool: Tool): number;
  /** Further measures of how well a tool fits. The names are the same for every tool and query. */
  features(tool: Tool): Readonly<Record<string, number>>;
  /** The words of the query that were found in a tool. */
  terms(tool: Tool): readonly MatchedTerm[];
}

/** Tool with its score. */
export interface Scored {
  readonly tool: Tool;
  readonly score: number;
}

/** Scorer that answers synchronously. */
export interface SyncScorer extends Scorer {
  query(text: string): QueryScores;
}
