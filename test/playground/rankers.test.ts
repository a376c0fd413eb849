import fc from "fast-check";
import { expect, test } from "vitest";
import { createGateway, loadConfig } from "../../core/mod.ts";
import { createBench } from "../../playground/bench.ts";
import type { Column } from "../../playground/protocol.ts";
import { listRankers, toSnippet } from "../../playground/rankers.ts";
import { readTools } from "../../plugins/lib/evaluation.ts";
import { presets } from "../../presets/mod.ts";
import { temporaryFolder, writeFiles } from "../support/temporary-folder.ts";
import { lines, someTools } from "./_playground.ts";

const rankers = listRankers();

const tools = readTools(lines(someTools), "tools.jsonl");

/** Returns the results of a gateway with this config. */
async function searchWith(folder: string, text: string, query: string): Promise<[string, number][]> {
  await writeFiles(folder, { "toolpipe.config.ts": text });
  const config = await loadConfig({ presets, cwd: folder });
  const gateway = await createGateway({ ...config, options: { cache: { enabled: false } } });
  try {
    for (const server of new Set(tools.map((tool) => tool.server)))
      await gateway.catalog.replace(
        { id: server },
        tools.filter((tool) => tool.server === server),
      );
    const { hits = [] } = (await gateway.services.search?.(query)) ?? {};
    return hits.map(({ tool, relevance }) => [tool.id, relevance]);
  } finally {
    await gateway.close();
  }
}

async function foundHere(column: Column, query: string): Promise<[string, number][]> {
  const [answer] = await createBench(tools).rank({ query, columns: [column] });
  return answer?.hits.map(({ id, relevance }) => [id, relevance]) ?? [];
}

test.each(rankers)(
  "the config of the ranker $name loads, and finds what the playground found",
  async ({ name }) => {
    const folder = await temporaryFolder();
    const column = { ranker: name, settings: {} };
    const text = toSnippet(column, rankers);
    expect(text).toContain(`search: { ranker: "${name}" }`);
    const query = "read the file in git";
    expect(await searchWith(folder, text, query)).toEqual(await foundHere(column, query));
  },
);

test("a config with any settings loads, and finds what the playground found with them", async () => {
  const folder = await temporaryFolder();
  const columns = fc.constantFrom(...rankers).chain(({ name: ranker, settings }) =>
    fc
      .subarray([...settings])
      .chain((some) =>
        fc.tuple(...some.map(({ path, max }) => fc.tuple(fc.constant(path), createValue(max)))),
      )
      .map((chosen) => ({ ranker, settings: Object.fromEntries(chosen) })),
  );
  await fc.assert(
    fc.asyncProperty(columns, async (column) => {
      const query = "read the file in git";
      expect(await searchWith(folder, toSnippet(column, rankers), query)).toEqual(
        await foundHere(column, query),
      );
    }),
    { numRuns: 15 },
  );
});

function createValue(max: number): fc.Arbitrary<number> {
  return fc.integer({ min: 0, max: 20 }).map((part) => (part / 20) * max);
}

test("a config holds nothing that is as it is by default", () => {
  const { settings } = rankers.find(({ name }) => name === "keyword") as (typeof rankers)[number];
  const usual = Object.fromEntries(settings.map(({ path, default: value }) => [path, value]));
  expect(toSnippet({ ranker: "keyword", settings: usual }, rankers)).toBe(
    toSnippet({ ranker: "keyword", settings: {} }, rankers),
  );
  const changed = toSnippet(
    { ranker: "keyword", settings: { ...usual, "keyword.weights.name": 4.5 } },
    rankers,
  );
  expect(changed).toContain(`{ ranker: "keyword", keyword: { weights: { name: 4.5 } } }`);
});
