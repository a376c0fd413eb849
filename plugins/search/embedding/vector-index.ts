import type { Tool } from "../../../core/mod.ts";
import type { Scored } from "../voice.ts";
import { bestOf } from "./_best-of.ts";
import { type Packed, rounded } from "./_bytes.ts";
import { LANES, type Products, product, products } from "./_products.ts";

/** Vectors of tools as bytes, in one array, searched from end to end: exact, and quick enough for 100,000 tools. */
export interface VectorIndex {
  /** How many tools have a vector. */
  readonly size: number;
  /** How long the vectors are; 0 before the first. */
  readonly dimensions: number;
  /** Takes in the tools of one server in place of those it had, and returns those that have no vector yet. */
  replace(server: string, tools: readonly Tool[]): readonly Tool[];
  /** Whether this very tool is there. */
  has(tool: Tool): boolean;
  /** Gives a tool its vector, of length 1 or of zeros, if the tool is still there and the vector is like the others. */
  fill(tool: Tool, vector: Packed): void;
  /** Gives many tools their vectors, which lie one after another, as {@link VectorIndex.fill} does. */
  fillAll(tools: readonly Tool[], scales: Float32Array, bytes: Int8Array): void;
  /** The vector of a tool as it was given, if it has one; valid until the next is given. */
  packed(tool: Tool): Packed | undefined;
  /** Prepares a vector of length 1 for being compared. */
  near(query: Float32Array): Near;
}

/** How near tools are to a vector. */
export interface Near {
  /** The nearest by their cosine, none of them at or below 0. */
  best(count: number, server?: string): readonly Scored[];
  /** The cosine of one tool; 0 where it has no vector, or is not known. */
  cosine(tool: Tool): number;
  /** The vector of a tool, if it has one. */
  vector(tool: Tool): Float32Array | undefined;
}

/** Makes an index. The first vector says how long all of them are. */
export function vectorIndex(options: { readonly plain?: boolean } = {}): VectorIndex {
  let dimensions = 0;
  let stride = 0;
  let store: Products | undefined;
  let scales = new Float32Array(0);
  let size = 0;
  const tools: (Tool | undefined)[] = [];
  const free: number[] = [];
  const slots = new Map<string, number>();
  const servers = new Map<string, readonly number[]>();

  const scaleOf = (slot: number): number => scales[slot] ?? 0;
  const setScale = (slot: number, scale: number): void => {
    size += Number(scale > 0) - Number(scaleOf(slot) > 0);
    scales[slot] = scale;
  };
  const storeFor = (length: number): Products => {
    if (!store) {
      dimensions = length;
      stride = Math.ceil(length / LANES) * LANES;
      store = products(stride, options);
    }
    if (store.room < tools.length) {
      store.grow(Math.max(64, tools.length, store.room * 2));
      const old = scales;
      scales = new Float32Array(store.room);
      scales.set(old);
    }
    return store;
  };
  const slotOf = (tool: Tool): number | undefined => {
    const slot = slots.get(tool.id);
    return slot !== undefined && scaleOf(slot) > 0 ? slot : undefined;
  };
  /** Where this very tool is, whether it has a vector or not. */
  const slotIn = (tool: Tool | undefined): number | undefined => {
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
      // The very same tool has the vector it had.
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
      return kept.filter((slot) => scaleOf(slot) === 0).map((slot) => tools[slot] as Tool);
    },
    has: (tool) => slotIn(tool) !== undefined,
    fill(tool, { scale, bytes }) {
      const slot = slotIn(tool);
      if (slot === undefined) return;
      const { vectors } = storeFor(bytes.length);
      if (bytes.length !== dimensions) return;
      vectors.set(bytes, slot * stride);
      setScale(slot, scale);
    },
    fillAll(list, given, bytes) {
      const length = bytes.length / list.length;
      if (list.length === 0 || (dimensions > 0 && length !== dimensions)) return;
      const { vectors } = storeFor(length);
      let from = 0;
      // What lies side by side in both is copied at once: to look at each vector by itself takes longer.
      for (let place = 0; place < list.length; place++) {
        const slot = slotIn(list[place]);
        if (slot !== undefined) setScale(slot, given[place] as number);
        const isRun = slot !== undefined && stride === length && slotIn(list[place + 1]) === slot + 1;
        if (isRun) continue;
        if (slot !== undefined)
          vectors.set(bytes.subarray(from * length, (place + 1) * length), (slot - place + from) * stride);
        from = place + 1;
      }
    },
    packed(tool) {
      const slot = slotOf(tool);
      if (slot === undefined || !store) return undefined;
      const begin = slot * stride;
      return { scale: scaleOf(slot), bytes: store.vectors.subarray(begin, begin + dimensions) };
    },
    near(query) {
      const { numbers, scale } = rounded(query, stride);
      const cosineOf = (slot: number, sum: number): number => sum * (scaleOf(slot) * scale);
      return {
        best(count, server) {
          const best = bestOf(count, isBefore);
          const { vectors } = store ?? { vectors: new Int8Array(0) };
          if (server !== undefined) {
            for (const slot of servers.get(server) ?? [])
              best.offer(slot, cosineOf(slot, product(numbers, vectors, slot * stride)));
          } else if (store && scale > 0) {
            const used = Math.min(tools.length, store.room);
            const sums = store.of(numbers, used);
            for (let slot = 0; slot < used; slot++) {
              const cosine = (sums[slot] as number) * ((scales[slot] as number) * scale);
              if (cosine >= best.least()) best.offer(slot, cosine);
            }
          }
          return best.sorted().map(([slot, score]) => ({ tool: tools[slot] as Tool, score }));
        },
        cosine(tool) {
          const slot = slotOf(tool);
          return slot === undefined || !store
            ? 0
            : cosineOf(slot, product(numbers, store.vectors, slot * stride));
        },
        vector(tool) {
          const slot = slotOf(tool);
          if (slot === undefined || !store) return undefined;
          const bytes = store.vectors.subarray(slot * stride, slot * stride + dimensions);
          return Float32Array.from(bytes, (byte) => byte * scaleOf(slot));
        },
      };
    },
  };
}
