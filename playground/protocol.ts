import type { MatchedTerm } from "../core/services/search.ts";
import type { LabelledQuery } from "../plugins/lib/evaluation.ts";

export type { LabelledQuery } from "../plugins/lib/evaluation.ts";

/** Numeric option of a ranker, a slider on the page. */
export interface Setting {
  /** Path in the options of the ranker, such as `weights.name`. */
  readonly path: string;
  readonly label: string;
  readonly group: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly default: number;
}

/** A ranker with its settings. */
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
  /** Known once the catalog is open. */
  readonly tools?: number;
  readonly servers?: number;
}

/** A set of labelled queries that can be picked. */
export interface SetInfo {
  readonly id: string;
  readonly label: string;
  readonly queries: number;
  /** Catalog of the labels, if known. */
  readonly catalog?: string;
}

/** Data of the page at its start. */
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
  readonly limit?: number | undefined;
}

/** A tool in a result. */
export interface FoundTool {
  readonly id: string;
  readonly server: string;
  readonly name: string;
  readonly description: string;
  readonly relevance: number;
  readonly shares: Readonly<Record<string, number>>;
  readonly terms: readonly MatchedTerm[];
}

/** Result or error of one ranker. */
export interface ColumnAnswer {
  readonly ms: number;
  readonly hits: readonly FoundTool[];
  /** Ids of the nearest tools if no tool fits. */
  readonly nearest: readonly string[];
  /** Tokens of the result for an agent. */
  readonly tokens: number;
  readonly error?: string;
}

/** A labelled set for several rankers. */
export interface EvaluateRequest {
  readonly catalog: string;
  readonly set: string;
  readonly columns: readonly Column[];
}

/** Progress of an evaluation. */
export interface Progress {
  readonly column: number;
  readonly ranker: string;
  readonly done: number;
  readonly total: number;
}

/** Outcome of one query. */
export interface QueryOutcome {
  /** Rank of the first relevant tool, from 1; 0 if none was found. */
  readonly rank: number;
  /** At 10; for a query that no tool answers, 1 if nothing was found. */
  readonly ndcg: number;
  readonly ms: number;
  readonly tokens: number;
  /** Ids of the first tools. */
  readonly top: readonly string[];
}

/** Counts of values between edges; there is one edge more than counts. */
export interface Histogram {
  readonly edges: readonly number[];
  readonly counts: readonly number[];
}

/** Metrics of one ranker. */
export interface ColumnResult {
  readonly column: Column;
  /** At 1, 2, 3 … */
  readonly recall: readonly number[];
  /** At 1, 2, 3 … */
  readonly ndcg: readonly number[];
  readonly mrr: number;
  /** Share of the queries without relevant tools that got no result; absent without such queries. */
  readonly silent?: number;
  readonly indexMs: number;
  readonly latency: Spread;
  readonly tokens: Spread;
  readonly outcomes: readonly QueryOutcome[];
}

/** Distribution of values. */
export interface Spread {
  readonly p50: number;
  readonly p95: number;
  readonly histogram: Histogram;
}

/** Result of an evaluation. */
export interface Evaluation {
  readonly queries: readonly LabelledQuery[];
  /** Number of queries that name a tool missing in the catalog. */
  readonly strangers: number;
  readonly columns: readonly ColumnResult[];
}

/** One line of the answer to an evaluation. */
export type EvaluationLine =
  | { readonly progress: Progress }
  | { readonly result: Evaluation }
  | { readonly error: string };
