/** Something and its score. */
export interface Rated {
  readonly item: number;
  readonly score: number;
}

/** Keeps the best of many without sorting all of them. */
export interface Top {
  /** What a score must reach to be among them. */
  least(): number;
  offer(score: number, item: number): void;
  /** What was kept, the best first. */
  sorted(): readonly Rated[];
}

/**
 * Keeps the best so many items. `before` says which of two comes first, and is asked only where their scores
 * are equal.
 */
export function createTop(count: number, before: (a: number, b: number) => boolean): Top {
  // A heap with the worst on top.
  const scores: number[] = [];
  const items: number[] = [];
  const isWorse = (a: number, b: number): boolean => {
    const difference = (scores[a] as number) - (scores[b] as number);
    return difference < 0 || (difference === 0 && before(items[b] as number, items[a] as number));
  };
  const swap = (a: number, b: number): void => {
    const score = scores[a] as number;
    const item = items[a] as number;
    scores[a] = scores[b] as number;
    items[a] = items[b] as number;
    scores[b] = score;
    items[b] = item;
  };
  const rise = (): void => {
    for (let at = items.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isWorse(at, parent)) return;
      swap(at, parent);
      at = parent;
    }
  };
  const sink = (): void => {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      let worst = at;
      if (left < items.length && isWorse(left, worst)) worst = left;
      if (left + 1 < items.length && isWorse(left + 1, worst)) worst = left + 1;
      if (worst === at) return;
      swap(at, worst);
      at = worst;
    }
  };
  return {
    least: () => (items.length < count ? Number.NEGATIVE_INFINITY : (scores[0] as number)),
    offer(score, item) {
      if (items.length < count) {
        scores.push(score);
        items.push(item);
        rise();
        return;
      }
      const least = scores[0] as number;
      if (score < least || (score === least && before(items[0] as number, item))) return;
      scores[0] = score;
      items[0] = item;
      sink();
    },
    sorted: () =>
      items
        .map((item, at): Rated => ({ item, score: scores[at] as number }))
        .sort((a, b) => b.score - a.score || (before(a.item, b.item) ? -1 : 1)),
  };
}
