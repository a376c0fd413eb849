import type { Tool } from "../../../core/mod.ts";
import type { Embedder, IndexSnapshot, VectorStorage } from "../../../core/services/search.ts";
import { type Availability, unavailable } from "./embedder.ts";
import { type PackedVector, packVector } from "./int8-vectors.ts";
import { createVectorCache, readVectors, type VectorSnapshot, writeVectors } from "./stored-vectors.ts";
import { createVectorIndex } from "./vector-index.ts";

/** Few enough that the first tools are found while the others are still being embedded. */
const BATCH = 64;

/** Holds a vector for each tool. An asynchronous embedder works in the background: no search waits for it. */
export function createCatalogVectors(
  embedder: Embedder,
  availability: Availability,
  cache: VectorStorage | undefined,
) {
  const index = createVectorIndex();
  const lists = new Map<string, readonly Tool[]>();
  const missing = new Map<string, readonly Tool[]>();
  let isRunning = false;
  let loaded: VectorSnapshot | undefined;
  /** Number of tools by server whose vectors were computed and not loaded. */
  const computed = new Map<string, number>();

  const update = (server: string, tools: readonly Tool[]): void => {
    const fresh = index.replace(server, tools);
    lists.set(server, tools);
    if (tools.length === 0) lists.delete(server);
    computed.delete(server);
    if (fresh.length === 0) missing.delete(server);
    else missing.set(server, fresh);
    resume();
  };
  const resume = (): void => {
    if (missing.size === 0 || isRunning || availability.isPaused) return;
    if (embedder.isSync) embedNow();
    else void embedInBackground();
  };

  const embedNow = (): void => {
    try {
      for (const [server, tools] of missing) {
        if (restore(server)) continue;
        const vectors = embedder.embedTools(tools);
        if (vectors instanceof Promise) throw new TypeError("A synchronous embedder returned a promise.");
        tools.forEach((tool, place) => {
          index.fill(tool, packVector(vectors[place] as Float32Array));
        });
        missing.delete(server);
        computed.set(server, tools.length);
      }
    } catch (thrown) {
      availability.failed(thrown);
    }
  };
  /** Takes the vectors of a server from the snapshot; false if it does not have them. */
  const restore = (server: string): boolean => {
    const all = lists.get(server) ?? [];
    const vectors = loaded?.take(server, all, embedder.hash);
    if (!vectors) return false;
    index.fillAll(all, vectors.scales, vectors.bytes);
    missing.delete(server);
    return true;
  };
  const embedInBackground = async (): Promise<void> => {
    isRunning = true;
    try {
      for (let [next] = missing; next; [next] = missing) {
        const [server, tools] = next;
        await embedServer(server, tools);
        // The server may have a new list meanwhile.
        if (missing.get(server) === tools) missing.delete(server);
      }
    } catch (thrown) {
      availability.failed(thrown);
    } finally {
      isRunning = false;
    }
  };
  const embedServer = async (server: string, tools: readonly Tool[]): Promise<void> => {
    const stored = cache && createVectorCache(cache, embedder);
    const vectors = new Map<Tool, PackedVector>(await stored?.load(server, tools));
    for (const [tool, vector] of vectors) index.fill(tool, vector);
    const rest = tools.filter((tool) => !vectors.has(tool));
    if (rest.length === 0) return;
    for (let from = 0; from < rest.length; from += BATCH) {
      const batch = rest.slice(from, from + BATCH).filter(index.has);
      if (batch.length === 0) continue;
      const embedded = await embedder.embedTools(batch);
      batch.forEach((tool, place) => {
        const vector = packVector(embedded[place] as Float32Array);
        index.fill(tool, vector);
        vectors.set(tool, vector);
      });
    }
    availability.succeeded();
    const now = lists.get(server);
    if (now) await stored?.save(server, now, vectors);
  };
  const snapshot: IndexSnapshot = {
    get fresh() {
      return [...computed.values()].reduce((sum, count) => sum + count, 0);
    },
    save() {
      computed.clear();
      // A server without its vectors would be read as one whose tools have no known word.
      const whole = new Map([...lists].filter(([server]) => !missing.has(server)));
      return writeVectors(whole.size > 0 ? embedder.hash : "", index.dimensions, whole, index.packed);
    },
    load(bytes) {
      loaded = readVectors(bytes);
      return loaded !== undefined;
    },
  };
  return {
    /** Only for a synchronous embedder; vectors of others go to the cache as they come. */
    snapshot: embedder.isSync ? snapshot : undefined,
    /** Number of tools with a vector. */
    get size() {
      return index.size;
    },
    /** Replaces the tools of one server. */
    update,
    /** Continues after a failure, once the pause is over. */
    resume,
    /** Compares a query vector with those of the tools; throws if their lengths differ. */
    compare(query: Float32Array) {
      if (query.length !== index.dimensions) {
        const lengths = `${query.length} numbers, and those of tools ${index.dimensions}`;
        throw unavailable(embedder.name, `its vectors of queries have ${lengths}`);
      }
      return index.compare(query);
    },
  };
}
