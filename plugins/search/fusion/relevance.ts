import type { Evidence } from "./evidence.ts";
import { relevanceWeights } from "./weights.ts";

/**
 * What a relevance is reckoned from, in the order of the weights: what a tool has of a query by itself. How far it
 * stands out from the others decides the order, but some tool always does, even where none of them fits.
 */
export function termsOf({ cosine, queryCoverage, nameCoverage }: Evidence): number[] {
  return [1, cosine, queryCoverage, nameCoverage];
}

/**
 * How likely a tool is the one that is meant: a logistic model that was fitted to labelled queries, with and
 * without the right tool in the catalog (`playground/train/fit-relevance.ts`).
 */
export function relevanceOf(evidence: Evidence, weights: readonly number[] = relevanceWeights): number {
  if (evidence.named >= 2) return 1;
  const sum = termsOf(evidence).reduce((total, term, at) => total + term * (weights[at] ?? 0), 0);
  return 1 / (1 + Math.exp(-sum));
}
