import type { Tool } from "../../../core/mod.ts";
import type { FusionScores } from "./candidates.ts";

// Both are written by `playground/train/fit-relevance.ts`: not for editing by hand.
const relevanceWeights: readonly number[] = [-3.362, 4.149, 1.577, 0.565];
/** Nothing fits if the best tool is less relevant than this. */
export const defaultGate = 0.092;

/** Measures that tell whether a tool is meant, independent of the other tools. */
export interface Evidence {
  /** Similarity of meaning. */
  readonly cosine: number;
  /** Whether meanings could be compared: an embedder may fail, or not have reached the tool yet. */
  readonly isCompared: boolean;
  /** Fraction of the telling words of the query that the tool has. */
  readonly queryCoverage: number;
  /** Fraction of the words of the tool's name that the query has. */
  readonly nameCoverage: number;
  /** How the query names the tool, from 0 (not at all) to 3 (letter by letter). */
  readonly named: number;
}

/** Collects the evidence for a tool over the clauses of a query: the best of each measure. */
export function collectEvidence(clauses: readonly FusionScores[], tool: Tool): Evidence {
  const most = { cosine: 0, isCompared: false, queryCoverage: 0, nameCoverage: 0, named: 0 };
  for (const scores of clauses) {
    const { keyword, embedding } = scores;
    const { queryCoverage = 0, nameCoverage = 0, named = 0 } = keyword.features(tool);
    most.cosine = Math.max(most.cosine, embedding.score(tool));
    most.isCompared ||= isCompared(scores, tool);
    most.queryCoverage = Math.max(most.queryCoverage, queryCoverage);
    most.nameCoverage = Math.max(most.nameCoverage, nameCoverage);
    most.named = Math.max(most.named, named);
  }
  return most;
}

/** Whether the meanings of a text and a tool could be compared. */
export function isCompared({ embedding }: FusionScores, tool: Tool): boolean {
  // Two vectors are hardly ever at right angles to the last digit.
  return (embedding.features(tool)["cosine"] ?? 0) !== 0;
}

/**
 * Inputs of the relevance model, in the order of its weights: what a tool has of a query by itself. How far it stands
 * out from the others decides the order, but some tool always does, even where none of them fits.
 */
export function modelInputs({ cosine, queryCoverage, nameCoverage }: Evidence): number[] {
  return [1, cosine, queryCoverage, nameCoverage];
}

/**
 * Estimates how likely a tool is the one that is meant: a logistic model that was fitted to labelled queries, with and
 * without the right tool in the catalog (`playground/train/fit-relevance.ts`).
 */
export function estimateRelevance(evidence: Evidence, weights: readonly number[] = relevanceWeights): number {
  if (evidence.named >= 2) return 1;
  const sum = modelInputs(evidence).reduce((total, input, at) => total + input * (weights[at] ?? 0), 0);
  return 1 / (1 + Math.exp(-sum));
}
