/**
 * An unordered set of objects that are added and removed thousands of times a second. A `Set` keeps removed objects
 * reachable until a major garbage collection, through the tables that it has outgrown; that was much of the memory of a
 * busy gateway. Here a slot is reused, and its handle removes in constant time.
 */
export class SlotSet<T extends object> implements Iterable<T> {
  readonly #slots: (T | undefined)[] = [];
  readonly #free: number[] = [];

  /** The number of objects in the set. */
  get size(): number {
    return this.#slots.length - this.#free.length;
  }

  /** Adds an object and returns its handle, which removes it. */
  add(item: T): number {
    const handle = this.#free.pop() ?? this.#slots.length;
    this.#slots[handle] = item;
    return handle;
  }

  /** Removes the object of a handle. */
  remove(handle: number): void {
    this.#slots[handle] = undefined;
    this.#free.push(handle);
  }

  /** Whether an object is in the set. */
  has(item: T): boolean {
    return this.#slots.includes(item);
  }

  *[Symbol.iterator](): Iterator<T> {
    for (const item of this.#slots) if (item) yield item;
  }
}
