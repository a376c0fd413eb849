/**
 * Things that come and go by the thousand, in no order. What passes through a `Set` lives on after it was removed, until
 * old objects are collected: the tables that a set has outgrown hold it. That was much of the memory of a busy gateway.
 */
export class Bag<T extends object> implements Iterable<T> {
  readonly #places: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** How many there are. */
  get size(): number {
    return this.#places.length - this.#free.length;
  }

  /** Takes one in, and returns its place. */
  add(item: T): number {
    const place = this.#free.pop() ?? this.#places.length;
    this.#places[place] = item;
    return place;
  }

  /** Lets go of what is in a place. */
  remove(place: number): void {
    this.#places[place] = undefined;
    this.#free.push(place);
  }

  /** Whether one is in it. */
  has(item: T): boolean {
    return this.#places.includes(item);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.#places) if (item) yield item;
  }
}
