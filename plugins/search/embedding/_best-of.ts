/** Keeps the best few of many. */
export interface BestOf {
  /** What the last of those that are kept scores: nothing below it gets in. */
  least(): number;
  /** Takes one in, if it is among the best. */
  offer(slot: number, score: number): void;
  /** Those that are kept, best first. */
  sorted(): readonly (readonly [slot: number, score: number])[];
}

/** Keeps so many of those above 0; of equals, the one that `before` puts first. */
export function bestOf(count: number, before: (a: number, b: number) => boolean): BestOf {
  // A heap with the worst on top, so that it is the one to give way.
  const heap: [slot: number, score: number][] = [];
  const isWorse = (a: readonly [number, number], b: readonly [number, number]): boolean =>
    a[1] < b[1] || (a[1] === b[1] && before(b[0], a[0]));
  const at = (index: number): [number, number] => heap[index] as [number, number];
  const swap = (a: number, b: number): void => {
    const kept = at(a);
    heap[a] = at(b);
    heap[b] = kept;
  };
  const rise = (from: number): void => {
    for (let child = from; child > 0; ) {
      const parent = (child - 1) >> 1;
      if (!isWorse(at(child), at(parent))) return;
      swap(child, parent);
      child = parent;
    }
  };
  const sink = (): void => {
    for (let parent = 0; ; ) {
      const left = 2 * parent + 1;
      if (left >= heap.length) return;
      const child = left + 1 < heap.length && isWorse(at(left + 1), at(left)) ? left + 1 : left;
      if (!isWorse(at(child), at(parent))) return;
      swap(child, parent);
      parent = child;
    }
  };
  return {
    least: () => (heap.length < count ? 0 : (heap[0]?.[1] ?? Number.POSITIVE_INFINITY)),
    offer(slot, score) {
      const entry: [number, number] = [slot, score];
      if (!(score > 0)) return;
      if (heap.length < count) {
        heap.push(entry);
        rise(heap.length - 1);
      } else if (heap.length > 0 && isWorse(at(0), entry)) {
        heap[0] = entry;
        sink();
      }
    },
    sorted: () => heap.toSorted((a, b) => (isWorse(a, b) ? 1 : -1)),
  };
}
