import type { MaybePromise, Tool } from "../../core/mod.ts";
import type { Keeping } from "./keeping/keeping.ts";

/** A tool that fits a query. */
export interface Hit {
  readonly tool: Tool;
  /** Between 0 and 1. */
  readonly relevance: number;
  /** Where it comes from, where that was asked for. */
  readonly why?: Explanation;
}

/** Where the relevance of a hit comes from. */
export interface Explanation {
  /** What each ranker gave; a ranker that works alone names itself. */
  readonly shares: Readonly<Record<string, number>>;
  /** The words of the query that were found, the weightiest first. */
  readonly terms: readonly MatchedTerm[];
}

/** A word of the query that was found in a tool. */
export interface MatchedTerm {
  readonly term: string;
  /** The part of the tool it was found in: its name, description, server, a parameter, a tag. */
  readonly field: string;
  readonly share: number;
}

/** What a ranking is narrowed to. */
export interface RankOptions {
  /** Only tools of this server. */
  readonly server?: string | undefined;
  /** At most this many; 10 by default. */
  readonly limit?: number | undefined;
  /** Whether each hit tells where its relevance comes from. */
  readonly explain?: boolean | undefined;
}

/** What was found. */
export interface Ranking {
  /** The tools that fit, best first. */
  readonly hits: readonly Hit[];
  /** Where nothing fits: the tools that came closest, for whoever would ask in other words. */
  readonly nearest: readonly Tool[];
}

/** Finds the tools that fit a query, best first. */
export interface Ranker {
  readonly name: string;
  /** Takes in the tools of one server in place of those it had; none of them removes it. */
  update(server: string, tools: readonly Tool[]): void;
  /** Ranks them. The same tools and the same query give the same answer; tools that do not fit are left out. */
  rank(query: string, options?: RankOptions): MaybePromise<Ranking>;
  /** What it has read, where that is worth being kept from one start to the next. */
  readonly keeping?: Keeping | undefined;
}
