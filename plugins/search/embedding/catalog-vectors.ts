import type { Tool } from "../../../core/mod.ts";
import type { Cache } from "../../cache/mod.ts";
import type { Keeping } from "../keeping/keeping.ts";
import { type Packed, pack } from "./_bytes.ts";
import type { Troubles } from "./_troubles.ts";
import { type Embedder, unavailable } from "./embedder.ts";
import { type KeptVectors, readVectors, writeVectors } from "./kept-vectors.ts";
import { vectorCache } from "./vector-cache.ts";
import { type Near, vectorIndex } from "./vector-index.ts";

/** The vectors of the catalog, which come in while it is searched. */
export interface CatalogVectors {
  /** How many tools have a vector. */
  readonly size: number;
  /** Takes in the tools of one server in place of those it had. */
  update(server: string, tools: readonly Tool[]): void;
  /** Goes on with what failed, once it may work again. */
  resume(): void;
  /** Prepares a vector for being compared with those that are there, if it can be. */
  near(query: Float32Array): Near;
  /** Those of an embedder that answers at once, in one piece; others are kept as they come. */
  readonly keeping: Keeping | undefined;
}

/** Few enough that the first tools are found while the others are still on their way. */
const BATCH = 64;

/** Keeps a vector for each tool. Those of an embedder that takes its time are made behind the back of the search. */
export function catalogVectors(
  embedder: Embedder,
  trouble: Troubles,
  storage: Cache | undefined,
): CatalogVectors {
  const index = vectorIndex();
  const lists = new Map<string, readonly Tool[]>();
  const missing = new Map<string, readonly Tool[]>();
  let isAtWork = false;
  let kept: KeptVectors | undefined;
  /** The lists whose vectors were made and not loaded. */
  const made = new Map<string, number>();

  const update = (server: string, tools: readonly Tool[]): void => {
    const fresh = index.replace(server, tools);
    lists.set(server, tools);
    if (tools.length === 0) lists.delete(server);
    made.delete(server);
    if (fresh.length === 0) missing.delete(server);
    else missing.set(server, fresh);
    resume();
  };
  const resume = (): void => {
    if (missing.size === 0 || isAtWork || trouble.pausing) return;
    if (embedder.prompt) atOnce();
    else void inTurn();
  };

  const atOnce = (): void => {
    try {
      for (const [server, tools] of missing) {
        if (restore(server)) continue;
        const vectors = embedder.embedTools(tools);
        if (vectors instanceof Promise) throw new TypeError("An embedder that is prompt took its time.");
        tools.forEach((tool, place) => {
          index.fill(tool, pack(vectors[place] as Float32Array));
        });
        missing.delete(server);
        made.set(server, tools.length);
      }
    } catch (thrown) {
      trouble.tell(thrown);
    }
  };
  /** Whether all that is missing of a server is among what was loaded. */
  const restore = (server: string): boolean => {
    const all = lists.get(server) ?? [];
    const vectors = kept?.take(server, all, embedder.hash);
    if (!vectors) return false;
    index.fillAll(all, vectors.scales, vectors.bytes);
    missing.delete(server);
    return true;
  };
  const inTurn = async (): Promise<void> => {
    isAtWork = true;
    try {
      for (let [next] = missing; next; [next] = missing) {
        const [server, tools] = next;
        await embedServer(server, tools);
        // Another list may have come meanwhile.
        if (missing.get(server) === tools) missing.delete(server);
      }
    } catch (thrown) {
      trouble.tell(thrown);
    } finally {
      isAtWork = false;
    }
  };
  const embedServer = async (server: string, tools: readonly Tool[]): Promise<void> => {
    const cache = storage && vectorCache(storage, embedder);
    const vectors = new Map<Tool, Packed>(await cache?.load(server, tools));
    for (const [tool, vector] of vectors) index.fill(tool, vector);
    const rest = tools.filter((tool) => !vectors.has(tool));
    if (rest.length === 0) return;
    for (let from = 0; from < rest.length; from += BATCH) {
      const batch = rest.slice(from, from + BATCH).filter(index.has);
      if (batch.length === 0) continue;
      const made = await embedder.embedTools(batch);
      batch.forEach((tool, place) => {
        const vector = pack(made[place] as Float32Array);
        index.fill(tool, vector);
        vectors.set(tool, vector);
      });
    }
    trouble.over();
    const now = lists.get(server);
    if (now) await cache?.save(server, now, vectors);
  };
  const keeping: Keeping = {
    get fresh() {
      return [...made.values()].reduce((sum, count) => sum + count, 0);
    },
    save() {
      made.clear();
      // A tool whose vector could not be made must not be taken for one that has none.
      const whole = new Map([...lists].filter(([server]) => !missing.has(server)));
      return writeVectors(whole.size > 0 ? embedder.hash : "", index.dimensions, whole, index.packed);
    },
    load(bytes) {
      kept = readVectors(bytes);
      return kept !== undefined;
    },
  };
  return {
    keeping: embedder.prompt ? keeping : undefined,
    get size() {
      return index.size;
    },
    update,
    resume,
    near(query) {
      if (query.length !== index.dimensions) {
        const lengths = `${query.length} numbers, and those of tools ${index.dimensions}`;
        throw unavailable(embedder.name, `its vectors of queries have ${lengths}`);
      }
      return index.near(query);
    },
  };
}
