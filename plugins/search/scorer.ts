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
  /** Finds the tools that score best, best first, and of equals the lower id; of one server if it is given. */
  best(count: number, server?: string): readonly Scored[];
  /** Score of one tool; 0 if it has nothing of the query, or is unknown. */
  score(tool: Tool): number;
  /** Further measures of how well a tool fits. The names are the same for every tool and query. */
  features(tool: Tool): Readonly<Record<string, number>>;
  /** Lists the words of the query that were found in a tool. */
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

/** Item with its score. */
interface Rated {
  readonly item: number;
  readonly score: number;
}

/** Collects the best of many items without sorting all of them. */
interface Top {
  /** Score that an item must reach to be kept. */
  least(): number;
  offer(item: number, score: number): void;
  /** The kept items, best first. */
  sorted(): readonly Rated[];
}

/** Keeps the best `count` items that score above 0. `isBefore` orders items of equal score. */
export function createTop(count: number, isBefore: (a: number, b: number) => boolean): Top {
  // A heap with the worst on top, in two arrays: an object an item would be made for every tool of the catalog.
  const scores: number[] = [];
  const items: number[] = [];
  const isWorse = (a: number, b: number): boolean => {
    const difference = (scores[a] as number) - (scores[b] as number);
    return difference < 0 || (difference === 0 && isBefore(items[b] as number, items[a] as number));
  };
  const swap = (a: number, b: number): void => {
    const score = scores[a] as number;
    const item = items[a] as number;
    scores[a] = scores[b] as number;
    items[a] = items[b] as number;
    scores[b] = score;
    items[b] = item;
  };
  const siftUp = (): void => {
    for (let at = items.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isWorse(at, parent)) return;
      swap(at, parent);
      at = parent;
    }
  };
  const siftDown = (): void => {
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
    least: () => (items.length < count ? 0 : (scores[0] ?? Number.POSITIVE_INFINITY)),
    offer(item, score) {
      if (!(score > 0) || count <= 0) return;
      if (items.length < count) {
        scores.push(score);
        items.push(item);
        siftUp();
        return;
      }
      const least = scores[0] as number;
      if (score < least || (score === least && isBefore(items[0] as number, item))) return;
      scores[0] = score;
      items[0] = item;
      siftDown();
    },
    sorted: () =>
      items
        .map((item, at): Rated => ({ item, score: scores[at] as number }))
        .sort((a, b) => b.score - a.score || (isBefore(a.item, b.item) ? -1 : 1)),
  };
}
