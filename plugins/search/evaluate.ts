/** How well rankings have what they should, each between 0 and 1; the mean over queries. */
export interface Quality {
  readonly recall1: number;
  readonly recall5: number;
  readonly recall10: number;
  readonly ndcg10: number;
  readonly mrr: number;
}

/** The names of {@link Quality}, in the order of a table. */
export const qualityNames: readonly (keyof Quality)[] = ["recall1", "recall5", "recall10", "ndcg10", "mrr"];

/** How good one ranking is. What is listed twice counts where it comes first. */
export function qualityOf(ranked: readonly string[], relevant: Iterable<string>): Quality {
  const wanted = new Set(relevant);
  const order = [...new Set(ranked)];
  return {
    recall1: recallAt(1, order, wanted),
    recall5: recallAt(5, order, wanted),
    recall10: recallAt(10, order, wanted),
    ndcg10: ndcgAt(10, order, wanted),
    mrr: reciprocalRank(order, wanted),
  };
}

/** The mean of many; nothing where there are none. */
export function meanQuality(all: readonly Quality[]): Quality {
  const mean = (name: keyof Quality): number =>
    all.length === 0 ? 0 : all.reduce((sum, each) => sum + each[name], 0) / all.length;
  return {
    recall1: mean("recall1"),
    recall5: mean("recall5"),
    recall10: mean("recall10"),
    ndcg10: mean("ndcg10"),
    mrr: mean("mrr"),
  };
}

/** The share of what is wanted that is among the first so many; 0 where nothing is wanted. */
export function recallAt(count: number, ranked: readonly string[], wanted: ReadonlySet<string>): number {
  if (wanted.size === 0) return 0;
  return ranked.slice(0, count).filter((id) => wanted.has(id)).length / wanted.size;
}

/** The gain of the first so many, an early place counting more, as a share of the best that is possible. */
export function ndcgAt(count: number, ranked: readonly string[], wanted: ReadonlySet<string>): number {
  let gain = 0;
  let best = 0;
  for (let place = 0; place < count; place++) {
    const worth = 1 / Math.log2(place + 2);
    if (wanted.has(ranked[place] ?? "")) gain += worth;
    if (place < wanted.size) best += worth;
  }
  return best === 0 ? 0 : gain / best;
}

/** One by the place of the first that is wanted; 0 where none is. */
export function reciprocalRank(ranked: readonly string[], wanted: ReadonlySet<string>): number {
  const place = ranked.findIndex((id) => wanted.has(id));
  return place < 0 ? 0 : 1 / (place + 1);
}

/** The value that so much of a list is not above; nothing of an empty list. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? 0;
}
