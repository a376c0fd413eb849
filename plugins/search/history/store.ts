import { type StateEntry, type StateStore, updateState } from "../../state/mod.ts";
import { boostsOf } from "./boosts.ts";
import { digestOf, historyKey, historyKeys } from "./digest.ts";
import { type HistoryOptions, historyDefaults } from "./options.ts";
import { keptUses, type Limits, recentUses, storedUses, usesIn } from "./uses.ts";

/** What searches led to, by actor: what one of them did never changes what another finds. */
export interface HistoryStore {
  /** How much each tool is raised for a query of an actor, by its id. */
  recall(actor: string, query: string): Promise<ReadonlyMap<string, number>>;
  /** Remembers that a search led an actor to a tool. */
  remember(actor: string, digest: string, tool: string): Promise<void>;
  /** Drops what is too old and, where there are too many actors, those who have not been there for longest. */
  tidy(): Promise<void>;
}

const DAY_MS = 86_400_000;
/** Whoever can choose their own name must not fill the disk. */
const MAX_ACTORS = 200;
/** What is longer is no id that anybody wants to find again. */
const LONGEST_ID = 300;

/** Keeps what searches led to in a state store, which other processes may share. */
export function historyStore(store: StateStore, options: HistoryOptions = {}): HistoryStore {
  const { days = historyDefaults.days, uses = historyDefaults.uses } = options;
  const limits = (): Limits => ({ today: Math.floor(Date.now() / DAY_MS), days, uses });

  const tidy = async (): Promise<void> => {
    const left: { readonly entry: StateEntry; readonly lastDay: number }[] = [];
    for (const entry of await store.list(historyKeys)) {
      const all = usesIn(entry.value);
      const kept = keptUses(all, limits());
      if (kept[0]) left.push({ entry, lastDay: kept[0].day });
      // Where another process was first, the key is no longer what was looked at, and stays.
      if (!kept[0]) await store.delete(entry.key, entry.version);
      else if (kept.length < all.length) await store.replace(entry.key, storedUses(kept), entry.version);
    }
    if (left.length <= MAX_ACTORS) return;
    left.sort((a, b) => a.lastDay - b.lastDay || (a.entry.key < b.entry.key ? -1 : 1));
    for (const { entry } of left.slice(0, left.length - MAX_ACTORS)) await store.delete(entry.key);
  };

  return {
    tidy,
    async recall(actor, query) {
      const digest = digestOf(actor, query);
      if (digest === "") return new Map();
      const entry = await store.get(historyKey(actor));
      const now = limits();
      return boostsOf(digest, recentUses(usesIn(entry?.value), now), now.today);
    },
    async remember(actor, digest, tool) {
      if (digest === "" || tool.length > LONGEST_ID) return;
      const now = limits();
      let isNew = false;
      await updateState(store, historyKey(actor), (value) => {
        isNew = value === undefined;
        const known = usesIn(value);
        const isKnown = known.some(
          (use) => use.day === now.today && use.digest === digest && use.tool === tool,
        );
        if (isKnown) return;
        return storedUses(keptUses([...known, { day: now.today, digest, tool }], now));
      });
      if (isNew) await tidy();
    },
  };
}
