import type { MatchedTerm } from "../core/services/search.ts";
import type { LabelledQuery } from "../plugins/lib/evaluation.ts";

export type { LabelledQuery } from "../plugins/lib/evaluation.ts";

/** A number of a ranker that the page shows as a slider. */
export interface Setting {
  /** Where it is among the options of the ranker, such as `weights.name`. */
  readonly path: string;
  readonly label: string;
  /** Settings of one group stand together. */
  readonly group: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly default: number;
}

/** A ranker as the page knows it. */
export interface RankerInfo {
  readonly name: string;
  readonly summary: string;
  readonly settings: readonly Setting[];
}

/** One experiment: a ranker, and the settings that differ from its defaults, by path. */
export interface Column {
  readonly ranker: string;
  readonly settings: Readonly<Record<string, number>>;
}

/** A catalog that can be picked. */
export interface CatalogInfo {
  readonly id: string;
  readonly label: string;
  /** How many there are; not there before anyone has picked it. */
  readonly tools?: number;
  readonly servers?: number;
}

/** A set of labelled queries that can be picked. */
export interface SetInfo {
  readonly id: string;
  readonly label: string;
  readonly queries: number;
  /** The catalog its labels speak of, where that is known. */
  readonly catalog?: string;
}

/** What the page is told when it opens. */
export interface Overview {
  readonly rankers: readonly RankerInfo[];
  readonly catalogs: readonly CatalogInfo[];
  readonly sets: readonly SetInfo[];
}

/** A file that was dropped on the page. */
export interface Upload {
  readonly name: string;
  readonly text: string;
}

/** A query for several rankers. */
export interface RankRequest {
  readonly catalog: string;
  readonly query: string;
  readonly columns: readonly Column[];
  readonly limit?: number;
}

/** A tool that a ranker found. */
export interface FoundTool {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly relevance: number;
  readonly shares: Readonly<Record<string, number>>;
  readonly terms: readonly MatchedTerm[];
}

/** What one ranker answers, or why it cannot. */
export interface ColumnAnswer {
  readonly ms: number;
  readonly hits: readonly FoundTool[];
  /** The ids of tools that came close, where nothing fits. */
  readonly nearest: readonly string[];
  /** What the answer would take of an agent's context. */
  readonly tokens: number;
  readonly error?: string;
}

/** A labelled set for several rankers. */
export interface EvaluateRequest {
  readonly catalog: string;
  readonly set: string;
  readonly columns: readonly Column[];
}

/** How far an evaluation is. */
export interface Progress {
  readonly column: number;
  readonly ranker: string;
  readonly done: number;
  readonly total: number;
}

/** How one query went. */
export interface QueryOutcome {
  /** The place of the first tool that was wanted, from 1; 0 where none was found. */
  readonly rank: number;
  /** Of the first ten; for a query that no tool answers, 1 where nothing was found. */
  readonly ndcg: number;
  readonly ms: number;
  readonly tokens: number;
  /** The ids of the tools that came first. */
  readonly top: readonly string[];
}

/** How often values fell between edges; there is one edge more than there are counts. */
export interface Histogram {
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/** How one ranker did. */
export interface ColumnResult {
  readonly column: Column;
  /** At 1, 2, 3 … */
  readonly recall: readonly number[];
  /** At 1, 2, 3 … */
  readonly ndcg: readonly number[];
  readonly mrr: number;
  /** The share of queries without an answer that got none; not there where the set has no such queries. */
  readonly silent?: number;
  readonly indexMs: number;
  readonly latency: Spread;
  readonly tokens: Spread;
  readonly outcomes: readonly QueryOutcome[];
}

/** How values are spread. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly histogram: Histogram;
}

/** What an evaluation came to. */
export interface Evaluation {
  readonly queries: readonly LabelledQuery[];
  /** How many queries name a tool that the catalog does not have. */
  readonly strangers: number;
  readonly columns: readonly ColumnResult[];
}

/** One line of the answer to an evaluation. */
export type EvaluationLine =
  | { readonly progress: Progress }
  | { readonly result: Evaluation }
  | { readonly error: string };
