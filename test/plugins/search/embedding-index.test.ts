import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Tool } from "../../../core/mod.ts";
import { toUnit } from "../../../plugins/search/embedding/embedder.ts";
import { packVector } from "../../../plugins/search/embedding/int8-vectors.ts";
import { createVectorIndex, type VectorIndex } from "../../../plugins/search/embedding/vector-index.ts";
import { tool } from "../../contracts/ranker.ts";

/** Numbers that look random and are the same each time. */
function createVector(seed: number, dimensions: number): Float32Array {
  let state = seed * 2654435761 + 1;
  return toUnit(
    Float32Array.from({ length: dimensions }, (_, index) => {
      state = (Math.imul(state, 1664525) + 1013904223) | 0;
      // The first coordinates are the largest, as they are in the static model.
      return state / 2 ** 31 / (1 + index / 30);
    }),
  );
}

function cosine(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, index) => sum + value * (b[index] ?? 0), 0);
}

function take(
  index: VectorIndex,
  server: string,
  tools: readonly Tool[],
  vector: (each: Tool) => Float32Array,
): void {
  for (const each of index.replace(server, tools)) index.fill(each, packVector(vector(each)));
}

const parseNumber = ({ name }: Tool): number => Number(name.slice(1));

describe.each([false, true])("vectors as bytes (without WebAssembly: %s)", (plain) => {
  test.each([1, 3, 16, 65, 192, 384])("keep the direction they had, with %i dimensions", (dimensions) => {
    const index = createVectorIndex({ plain });
    const tools = Array.from({ length: 50 }, (_, place) => tool(`s:t${place}`));
    take(index, "s", tools, (each) => createVector(parseNumber(each), dimensions));
    const query = createVector(1_000, dimensions);
    const similarity = index.compare(query);
    for (const each of tools) {
      const exact = cosine(query, createVector(parseNumber(each), dimensions));
      expect(similarity.cosine(each)).toBeCloseTo(exact, 2);
      expect(
        cosine(similarity.vector(each) ?? query, createVector(parseNumber(each), dimensions)),
      ).toBeGreaterThan(0.999);
    }
  });

  test("find the very tools that comparing all of them finds, of equals the lower id", () => {
    const index = createVectorIndex({ plain });
    // Some have the same vector.
    const vector = (each: Tool): Float32Array => createVector(parseNumber(each) % 300, 192);
    const tools = Array.from({ length: 500 }, (_, place) => tool(`s${place % 7}:t${place}`));
    for (let server = 0; server < 7; server++)
      take(
        index,
        `s${server}`,
        tools.filter((each) => each.server === `s${server}`),
        vector,
      );
    for (let seed = 0; seed < 20; seed++) {
      const similarity = index.compare(createVector(5_000 + seed, 192));
      const all = tools
        .map((each) => ({ tool: each, score: similarity.cosine(each) }))
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score || (a.tool.id < b.tool.id ? -1 : 1));
      for (const count of [0, 1, 10, 100, 1_000]) expect(similarity.best(count)).toEqual(all.slice(0, count));
      const own = all.filter((each) => each.tool.server === "s3");
      expect(similarity.best(10, "s3")).toEqual(own.slice(0, 10));
      expect(similarity.best(10, "nowhere")).toEqual([]);
    }
  });

  test("are the same after any updates as if only the last had been", () => {
    const list = fc.uniqueArray(fc.integer({ min: 0, max: 40 }), { maxLength: 30 });
    const update = fc.record({ server: fc.constantFrom("a", "b", "c"), numbers: list, same: fc.boolean() });
    fc.assert(
      fc.property(fc.array(update, { maxLength: 12 }), (updates) => {
        const index = createVectorIndex({ plain });
        const last = new Map<string, readonly Tool[]>();
        const known = new Map<string, Tool>();
        for (const { server, numbers, same } of updates) {
          const tools = numbers.map((number) => {
            const id = `${server}:t${number}`;
            const each = (same && known.get(id)) || tool(id);
            known.set(id, each);
            return each;
          });
          last.set(server, tools);
          take(index, server, tools, (each) => createVector(parseNumber(each), 32));
        }
        const fresh = createVectorIndex({ plain });
        for (const [server, tools] of last)
          take(fresh, server, tools, (each) => createVector(parseNumber(each), 32));
        const query = createVector(777, 32);
        expect(index.compare(query).best(100)).toEqual(fresh.compare(query).best(100));
        expect(index.size).toBe(fresh.size);
      }),
    );
  });

  test("of a tool that did not change are not asked for again", () => {
    const index = createVectorIndex({ plain });
    const [one, two] = [tool("s:t1"), tool("s:t2")];
    take(index, "s", [one], () => createVector(1, 8));
    expect(index.replace("s", [one, two])).toEqual([two]);
    expect(index.replace("s", [one, two])).toEqual([two]);
    expect(index.size).toBe(1);
  });

  test("come only to tools that are still there, and only if they are like the others", () => {
    const index = createVectorIndex({ plain });
    const [one, other] = [tool("s:t1"), tool("s:t1")];
    index.replace("s", [one]);
    index.fill(other, packVector(createVector(1, 8)));
    expect(index.size).toBe(0);
    index.fill(one, packVector(createVector(1, 8)));
    index.replace("s", [other]);
    index.fill(other, packVector(createVector(1, 9)));
    expect([index.has(one), index.has(other), index.size]).toEqual([false, true, 0]);
  });

  test("of the first of two tools with one id count", () => {
    const index = createVectorIndex({ plain });
    const [one, two] = [tool("s:t1"), tool("s:t1")];
    take(index, "s", [one, two], (each) => createVector(each === one ? 1 : 2, 8));
    expect(
      index
        .compare(createVector(1, 8))
        .best(10)
        .map(({ tool: each }) => each === one),
    ).toEqual([true]);
    expect(index.replace("s", [])).toEqual([]);
    expect(index.compare(createVector(1, 8)).best(10)).toEqual([]);
  });

  test("of zeros are found by nothing", () => {
    const index = createVectorIndex({ plain });
    take(index, "s", [tool("s:t1"), tool("s:t2")], (each) =>
      each.name === "t1" ? new Float32Array(8) : createVector(2, 8),
    );
    expect(index.compare(createVector(2, 8)).best(10)).toHaveLength(1);
    expect(index.compare(new Float32Array(8)).best(10)).toEqual([]);
  });
});
