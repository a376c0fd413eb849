import { readFileSync, statSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { GatewayError, Tool } from "../../../core/mod.ts";
import { embeddingRanker } from "../../../plugins/search/embedding/ranker.ts";
import { loadStaticModel, staticEmbedder, weightFile } from "../../../plugins/search/embedding/static.ts";
import { wordHash } from "../../../plugins/search/embedding/words.ts";
import { testEmbedder } from "../../contracts/embedder.ts";
import { take, tool } from "../../contracts/ranker.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

testEmbedder("static", async () => () => staticEmbedder());

const read = (path: string): unknown => JSON.parse(readFileSync(new URL(path, import.meta.url), "utf8"));
const examples = read("../../../playground/train/examples.json") as { queries: string[]; tools: Tool[] };
const golden = read("../../fixtures/toolvec.json") as { queries: string[]; tools: string[] };

const createVector = (text: string): Float32Array =>
  new Float32Array(Uint8Array.from(Buffer.from(text, "base64")).buffer);
const cosine = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, index) => sum + value * (b[index] ?? Number.NaN), 0);

describe("the weights that come with toolpipe", () => {
  const model = loadStaticModel();

  test.each(examples.queries.map((text, index) => [text, golden.queries[index] ?? ""]))(
    "give %j the vector that the training gives it",
    (text, vector) => {
      const expected = createVector(vector);
      const isNothing = expected.every((value) => value === 0);
      if (isNothing) expect(model.query(text)).toEqual(expected);
      else expect(cosine(model.query(text), expected)).toBeGreaterThan(0.999);
    },
  );

  test.each(examples.tools.map((each, index) => [each.name, each, golden.tools[index] ?? ""] as const))(
    "give the tool %j the vector that the training gives it",
    (_name, each, vector) => {
      expect(cosine(model.tool(each), createVector(vector))).toBeGreaterThan(0.999);
    },
  );

  test("are 9 MB at most", () => {
    expect(statSync(weightFile).size).toBeLessThanOrEqual(9_000_000);
  });

  test("put what means the same nearer than what does not", () => {
    const near = (query: string, ...descriptions: string[]): number => {
      const asked = model.query(query);
      const cosines = descriptions.map((text) => cosine(asked, model.tool(tool("x:y", text))));
      return cosines.indexOf(Math.max(...cosines));
    };
    expect(
      near("will it rain tomorrow", "Sends an e-mail.", "Gets the weather forecast.", "Lists files."),
    ).toBe(1);
    expect(near("bill the client", "Creates an invoice for a customer.", "Deletes a branch.")).toBe(0);
    expect(near("make a folder", "Plays a song.", "Translates a text.", "Creates a new directory.")).toBe(2);
  });

  test("explain a query by its words, which add up to it", () => {
    fc.assert(
      fc.property(fc.lorem({ maxCount: 8 }), (text) => {
        const whole = model.query(text);
        const parts = model.words(text).map(({ vector }) => vector);
        for (let index = 0; index < model.dimensions; index++) {
          const sum = parts.reduce((total, part) => total + (part[index] ?? Number.NaN), 0);
          expect(sum).toBeCloseTo(whole[index] ?? Number.NaN, 4);
        }
      }),
    );
  });

  test("accept strings of any length and script", () => {
    const unit = fc.constantFrom<"binary" | "grapheme">("binary", "grapheme");
    const text = unit.chain((kind) => fc.string({ unit: kind, maxLength: 300 }));
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 300 }), (piece, times) => {
        const length = Math.hypot(...model.query(piece.repeat(times)));
        expect(length === 0 || Math.abs(length - 1) < 1e-4).toBe(true);
      }),
    );
  });

  test("tell a higher cosine as more likely", () => {
    const ladder = [-1, 0, 0.2, 0.4, 0.6, 0.8, 1].map(model.relevance);
    expect(ladder).toEqual(ladder.toSorted((a, b) => a - b));
    expect(ladder[0]).toBeGreaterThan(0);
    expect(ladder.at(-1)).toBeLessThanOrEqual(1);
  });

  test("know words by a hash that stays", () => {
    expect([wordHash(""), wordHash("file")]).toEqual([2872998923, 2950757957]);
  });
});

describe("weights that cannot be used", () => {
  const broken = async (change: (bytes: Buffer) => Buffer): Promise<URL> => {
    const file = join(await temporaryFolder(), "toolvec.bin");
    await writeFile(file, change(await readFile(weightFile)));
    return pathToFileURL(file);
  };
  const collectWarnings = (file: URL): readonly GatewayError[] => {
    const warnings: GatewayError[] = [];
    const ranker = embeddingRanker({
      embedder: staticEmbedder(file),
      onTrouble: (error) => warnings.push(error),
    });
    take(ranker, [tool("files:read_file", "Reads a file."), tool("time:now")]);
    expect(ranker.rank("read a file")).toEqual({ hits: [], nearest: [] });
    take(ranker, [tool("files:write_file", "Writes a file.")]);
    expect(ranker.rank("read a file")).toEqual({ hits: [], nearest: [] });
    return warnings;
  };

  test("a missing file is told of once, and nothing is found", async () => {
    const warnings = collectWarnings(pathToFileURL(join(await temporaryFolder(), "none.bin")));
    expect(warnings.map(({ code, message }) => [code, message])).toEqual([
      [
        "EMBEDDER_UNAVAILABLE",
        'The embedder "static" cannot be used: its weight file is missing. Search goes on without it.',
      ],
    ]);
  });

  test.each<[string, (bytes: Buffer) => Buffer]>([
    ["cut short", (bytes) => bytes.subarray(0, bytes.length - 1)],
    ["longer than it was", (bytes) => Buffer.concat([bytes, Buffer.alloc(4)])],
    ["changed in one byte", (bytes) => Buffer.from(bytes.with(5_000_000, (bytes.at(5_000_000) ?? 0) ^ 1))],
    ["of another version", (bytes) => Buffer.from(bytes.with(7, 0x39))],
    ["empty", () => Buffer.alloc(0)],
  ])("a file that is %s is told of once, and nothing is found", async (_what, change) => {
    const [warning, ...more] = collectWarnings(await broken(change));
    expect(warning?.message).toBe(
      'The embedder "static" cannot be used: its weight file is damaged. Search goes on without it.',
    );
    expect(more).toEqual([]);
  });

  test("a file that was damaged is read again once it is whole", async () => {
    const whole = await readFile(weightFile);
    const file = pathToFileURL(join(await temporaryFolder(), "toolvec.bin"));
    await writeFile(file, whole.with(5_000_000, (whole.at(5_000_000) ?? 0) ^ 1));
    const embedder = staticEmbedder(file);
    const tools = [tool("a:read_file", "Reads a file.")];
    expect(() => embedder.embedTools(tools)).toThrow("damaged");
    await writeFile(file, whole);
    expect(embedder.embedTools(tools)).toEqual(staticEmbedder().embedTools(tools));
  });
});
