import type { Tool } from "../../../core/mod.ts";
import { createTop, type Scored } from "../scorer.ts";
import {
  createVectorArray,
  dotProduct,
  LANES,
  type PackedVector,
  roundQuery,
  type VectorArray,
} from "./int8-vectors.ts";

/** Vectors of tools as bytes in one array, searched from end to end: exact, and fast enough for 100,000 tools. */
export interface VectorIndex {
  /** Number of tools with a vector. */
  readonly size: number;
  /** Length of the vectors; 0 before the first. */
  readonly dimensions: number;
  /** Replaces the tools of one server and returns those that have no vector yet. */
  replace(server: string, tools: readonly Tool[]): readonly Tool[];
  /** Whether the index has this tool object. */
  has(tool: Tool): boolean;
  /** Sets the vector of a tool, if the index still has the tool and the vector has the length of the others. */
  fill(tool: Tool, vector: PackedVector): void;
  /** Sets the vectors of many tools, which lie one after another. */
  fillAll(tools: readonly Tool[], scales: Float32Array, bytes: Int8Array): void;
  /** The vector of a tool, valid until the next `fill`. */
  packed(tool: Tool): PackedVector | undefined;
  /** Compares a query vector of length 1 with all tools. */
  compare(query: Float32Array): Similarity;
}

/** Similarity of tools to a query vector. */
export interface Similarity {
  /** Finds the tools of the highest cosine above 0, best first. */
  best(count: number, server?: string): readonly Scored[];
  /** Cosine of one tool; 0 if it has no vector, or is unknown. */
  cosine(tool: Tool): number;
  /** The vector of a tool, if it has one. */
  vector(tool: Tool): Float32Array | undefined;
}

/** Creates an empty index. The first vector sets the length of all. */
export function createVectorIndex(options: { readonly plain?: boolean } = {}): VectorIndex {
  let dimensions = 0;
  let stride = 0;
  let store: VectorArray | undefined;
  let scales = new Float32Array(0);
  let size = 0;
  const tools: (Tool | undefined)[] = [];
  const free: number[] = [];
  const slots = new Map<string, number>();
  const servers = new Map<string, readonly number[]>();

  const getScale = (slot: number): number => scales[slot] ?? 0;
  const setScale = (slot: number, scale: number): void => {
    size += Number(scale > 0) - Number(getScale(slot) > 0);
    scales[slot] = scale;
  };
  const getStore = (length: number): VectorArray => {
    if (!store) {
      dimensions = length;
      stride = Math.ceil(length / LANES) * LANES;
      store = createVectorArray(stride, options);
    }
    if (store.capacity < tools.length) {
      store.grow(Math.max(64, tools.length, store.capacity * 2));
      const old = scales;
      scales = new Float32Array(store.capacity);
      scales.set(old);
    }
    return store;
  };
  const findSlot = (tool: Tool): number | undefined => {
    const slot = slots.get(tool.id);
    return slot !== undefined && getScale(slot) > 0 ? slot : undefined;
  };
  /** Slot of this tool object, with or without a vector. */
  const findActiveSlot = (tool: Tool | undefined): number | undefined => {
    const slot = tool && slots.get(tool.id);
    return slot !== undefined && tools[slot] === tool ? slot : undefined;
  };
  const allot = (tool: Tool): number => {
    const slot = free.pop() ?? tools.length;
    tools[slot] = tool;
    slots.set(tool.id, slot);
    return slot;
  };
  const release = (slot: number): void => {
    tools[slot] = undefined;
    if (slot < scales.length) setScale(slot, 0);
    free.push(slot);
  };
  const isBefore = (a: number, b: number): boolean => (tools[a]?.id ?? "") < (tools[b]?.id ?? "");

  return {
    get size() {
      return size;
    },
    get dimensions() {
      return dimensions;
    },
    replace(server, list) {
      const before = new Map((servers.get(server) ?? []).map((slot) => [tools[slot], slot]));
      for (const tool of before.keys()) if (tool) slots.delete(tool.id);
      const kept: number[] = [];
      const fresh: Tool[] = [];
      // A tool object that is still listed keeps its vector.
      for (const tool of list) {
        const slot = before.get(tool);
        if (slot === undefined) fresh.push(tool);
        else {
          before.delete(tool);
          slots.set(tool.id, slot);
          kept.push(slot);
        }
      }
      for (const slot of before.values()) release(slot);
      // Some servers list a name twice; the first one counts.
      for (const tool of fresh) if (!slots.has(tool.id)) kept.push(allot(tool));
      if (kept.length > 0) servers.set(server, kept);
      else servers.delete(server);
      return kept.filter((slot) => getScale(slot) === 0).map((slot) => tools[slot] as Tool);
    },
    has: (tool) => findActiveSlot(tool) !== undefined,
    fill(tool, { scale, bytes }) {
      const slot = findActiveSlot(tool);
      if (slot === undefined) return;
      const { vectors } = getStore(bytes.length);
      if (bytes.length !== dimensions) return;
      vectors.set(bytes, slot * stride);
      setScale(slot, scale);
    },
    fillAll(list, given, bytes) {
      const length = bytes.length / list.length;
      if (list.length === 0 || (dimensions > 0 && length !== dimensions)) return;
      const { vectors } = getStore(length);
      let from = 0;
      // Runs that are contiguous in both are copied at once: one vector at a time takes longer.
      for (let place = 0; place < list.length; place++) {
        const slot = findActiveSlot(list[place]);
        if (slot !== undefined) setScale(slot, given[place] as number);
        const isRun = slot !== undefined && stride === length && findActiveSlot(list[place + 1]) === slot + 1;
        if (isRun) continue;
        if (slot !== undefined)
          vectors.set(bytes.subarray(from * length, (place + 1) * length), (slot - place + from) * stride);
        from = place + 1;
      }
    },
    packed(tool) {
      const slot = findSlot(tool);
      if (slot === undefined || !store) return undefined;
      const begin = slot * stride;
      return { scale: getScale(slot), bytes: store.vectors.subarray(begin, begin + dimensions) };
    },
    compare(query) {
      const { numbers, scale } = roundQuery(query, stride);
      const toCosine = (slot: number, sum: number): number => sum * (getScale(slot) * scale);
      return {
        best(count, server) {
          const top = createTop(count, isBefore);
          const { vectors } = store ?? { vectors: new Int8Array(0) };
          if (server !== undefined) {
            for (const slot of servers.get(server) ?? [])
              top.offer(slot, toCosine(slot, dotProduct(numbers, vectors, slot * stride)));
          } else if (store && scale > 0) {
            const used = Math.min(tools.length, store.capacity);
            const sums = store.multiply(numbers, used);
            for (let slot = 0; slot < used; slot++) {
              const cosine = (sums[slot] as number) * ((scales[slot] as number) * scale);
              if (cosine >= top.least()) top.offer(slot, cosine);
            }
          }
          return top.sorted().map(({ item, score }) => ({ tool: tools[item] as Tool, score }));
        },
        cosine(tool) {
          const slot = findSlot(tool);
          return slot === undefined || !store
            ? 0
            : toCosine(slot, dotProduct(numbers, store.vectors, slot * stride));
        },
        vector(tool) {
          const slot = findSlot(tool);
          if (slot === undefined || !store) return undefined;
          const bytes = store.vectors.subarray(slot * stride, slot * stride + dimensions);
          return Float32Array.from(bytes, (byte) => byte * getScale(slot));
        },
      };
    },
  };
}
