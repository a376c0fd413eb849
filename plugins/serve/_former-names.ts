import type { Tool } from "../../core/mod.ts";

/** The names that tools were shown by before the list changed. */
export interface FormerNames {
  /** Notes a list that is not shown any more. */
  keep(byName: ReadonlyMap<string, Tool>): void;
  /** The id of the tool that had a name, the last time anything had it. */
  idOf(name: string): string | undefined;
}

const MAX_NAMES = 10_000;

/**
 * Remembers names. When a second server comes with a tool of the same name, the first one's is called otherwise from
 * then on; a client that has not read the new list yet still means the tool that it saw.
 */
export function formerNames(): FormerNames {
  const ids = new Map<string, string>();
  return {
    keep(byName) {
      for (const [name, { id }] of byName) {
        ids.delete(name);
        ids.set(name, id);
      }
      for (const name of ids.keys()) {
        if (ids.size <= MAX_NAMES) return;
        ids.delete(name);
      }
    },
    idOf: (name) => ids.get(name),
  };
}
