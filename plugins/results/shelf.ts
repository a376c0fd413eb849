/** A value that is kept for a while. */
export interface Shelved {
  /** Owner of the value; no other actor finds it. */
  readonly actor: string;
  readonly bytes: number;
}

/** A store in memory, bounded in number, bytes and time. */
export interface Shelf<T extends Shelved> {
  /** Whether a value of this size can be kept at all. */
  holds(bytes: number): boolean;
  put(id: string, entry: T): void;
  get(id: string, actor: string): T | undefined;
  /** Lists the values of an actor, the newest first. */
  list(actor: string): readonly (readonly [id: string, entry: T])[];
}

const MAX_ENTRIES = 1_000;

/** Creates an empty shelf. All values are kept equally long, so the first of the map is always the first to expire. */
export function createShelf<T extends Shelved>({
  keepMs,
  maxBytes,
}: {
  readonly keepMs: number;
  readonly maxBytes: number;
}): Shelf<T> {
  const entries = new Map<string, { readonly entry: T; readonly until: number }>();
  let bytes = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;

  return {
    holds: (size) => size <= maxBytes,
    put(id, entry) {
      drop(id);
      while (entries.size >= MAX_ENTRIES || (entries.size > 0 && bytes + entry.bytes > maxBytes)) dropFirst();
      keep(id, entry);
    },
    get(id, actor) {
      dropExpired();
      const found = entries.get(id)?.entry;
      if (found?.actor !== actor) return undefined;
      // Kept anew: an agent that reads page by page must not lose the rest on the way.
      drop(id);
      keep(id, found);
      return found;
    },
    list(actor) {
      dropExpired();
      const own = [...entries].filter(([, { entry }]) => entry.actor === actor);
      return own.map(([id, { entry }]) => [id, entry] as const).toReversed();
    },
  };

  function keep(id: string, entry: T): void {
    entries.set(id, { entry, until: performance.now() + keepMs });
    bytes += entry.bytes;
    arm();
  }

  function drop(id: string): void {
    bytes -= entries.get(id)?.entry.bytes ?? 0;
    entries.delete(id);
  }

  function dropFirst(): void {
    const [first] = entries.keys();
    if (first !== undefined) drop(first);
  }

  function dropExpired(): void {
    for (const [id, { until }] of entries) {
      if (until > performance.now()) return;
      drop(id);
    }
  }

  /** Frees memory also if the shelf is not used again. */
  function arm(): void {
    if (timer) return;
    timer = setTimeout(() => {
      timer = undefined;
      dropExpired();
      if (entries.size > 0) arm();
    }, keepMs);
    timer.unref?.();
  }
}
