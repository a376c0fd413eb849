import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Embedder } from "../../core/services/search.ts";
import { tool } from "./ranker.ts";

const length = (vector: Float32Array): number => Math.hypot(...vector);
const cosine = (a: Float32Array | undefined, b: Float32Array | undefined): number =>
  Array.from(a ?? []).reduce((sum, value, index) => sum + value * (b?.[index] ?? Number.NaN), 0);

/** The contract of every embedder. `prepare` starts its dependencies for one test, and returns its factory. */
export function testEmbedder(name: string, prepare: () => Promise<() => Embedder>): void {
  describe(`${name} as an embedder`, () => {
    const tools = [
      tool("files:read_file", "Reads a file."),
      tool("github:create_issue", "Creates an issue in a repository."),
      tool("time:now"),
    ];

    test("has a name, and a hash that another one made alike has too", async () => {
      const make = await prepare();
      const [one, other] = [make(), make()];
      expect(one.name).not.toBe("");
      expect(one.hash).not.toBe("");
      expect([other.name, other.hash]).toEqual([one.name, one.hash]);
    });

    test("returns a vector of length 1 for each query and tool, all with its dimensions", async () => {
      const embedder = (await prepare())();
      const queries = await embedder.embedQueries(["read a file", "open an issue"]);
      const vectors = [...queries, ...(await embedder.embedTools(tools))];
      expect(vectors).toHaveLength(5);
      expect(embedder.dimensions).toBeGreaterThan(1);
      for (const vector of vectors) {
        expect(vector).toHaveLength(embedder.dimensions ?? 0);
        expect(length(vector)).toBeCloseTo(1, 3);
      }
    });

    test("has nothing to say about nothing", async () => {
      const embedder = (await prepare())();
      expect(await embedder.embedQueries([])).toEqual([]);
      expect(await embedder.embedTools([])).toEqual([]);
    });

    test("returns equal vectors for equal strings, whatever else is in the batch", async () => {
      const embedder = (await prepare())();
      const [alone] = await embedder.embedQueries(["read a file"]);
      const many = await embedder.embedQueries(["delete a branch", "read a file", "", "read a file"]);
      expect(cosine(alone, many[1])).toBeCloseTo(1, 4);
      expect(many[3]).toEqual(many[1]);
      const [first] = await embedder.embedTools(tools);
      const again = await embedder.embedTools(tools.toReversed());
      expect(cosine(first, again[2])).toBeCloseTo(1, 4);
    });

    test("returns vectors in the order of the strings, however many there are", async () => {
      const embedder = (await prepare())();
      const texts = Array.from({ length: 150 }, (_, index) => `file ${index % 7} issue ${index % 11}`);
      const vectors = await embedder.embedQueries(texts);
      expect(vectors).toHaveLength(150);
      const [last] = await embedder.embedQueries([texts[149] ?? ""]);
      expect(cosine(last, vectors[149])).toBeCloseTo(1, 4);
    });

    test("puts a query nearest to the tool it speaks of", async () => {
      const embedder = (await prepare())();
      const [query] = await embedder.embedQueries(["creates an issue"]);
      const cosines = (await embedder.embedTools(tools)).map((vector) => cosine(query, vector));
      expect(cosines.indexOf(Math.max(...cosines))).toBe(1);
    });

    test("returns a vector of length 1 or of zeros for any string", async () => {
      const embedder = (await prepare())();
      const text = fc.oneof(fc.string({ unit: "binary", maxLength: 100 }), fc.string({ maxLength: 100 }));
      await fc.assert(
        fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (texts) => {
          const vectors = await embedder.embedQueries(texts);
          expect(vectors).toHaveLength(texts.length);
          for (const vector of vectors) {
            const own = length(vector);
            expect(own === 0 || Math.abs(own - 1) < 1e-3).toBe(true);
          }
        }),
        { numRuns: 30 },
      );
    });
  });
}
