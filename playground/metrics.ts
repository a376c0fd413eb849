import { percentile } from "../plugins/lib/evaluation.ts";
import type { Histogram, Spread } from "./protocol.ts";

export { ndcgAt, recallAt, reciprocalRank } from "../plugins/lib/evaluation.ts";

/** How values are spread, between edges that are given. */
export function spreadOf(values: readonly number[], edges: readonly number[]): Spread {
  return {
    p50: percentile(values, 0.5),
    p95: percentile(values, 0.95),
    histogram: histogramOf(values, edges),
  };
}

function histogramOf(values: readonly number[], edges: readonly number[]): Histogram {
  const counts = Array.from({ length: edges.length - 1 }, () => 0);
  for (const value of values) {
    // What lies outside belongs to the first or the last.
    let bin = 0;
    while (bin < counts.length - 1 && value >= (edges[bin + 1] as number)) bin++;
    counts[bin] = (counts[bin] as number) + 1;
  }
  return { edges, counts };
}

/** Edges that double from one to the next, for values that differ by orders of magnitude. */
export function doublingEdges(from: number, count: number): number[] {
  return Array.from({ length: count + 1 }, (_, index) => from * 2 ** index);
}

/** Edges at equal distances. */
export function evenEdges(step: number, count: number): number[] {
  return Array.from({ length: count + 1 }, (_, index) => step * index);
}
