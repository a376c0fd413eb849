import { describe, expect, test } from "vitest";
import { readEntry } from "../../plugins/registries/entry.ts";
import { createRegistryIndex } from "../../plugins/registries/mod.ts";
import { createRanker } from "../../plugins/search/mod.ts";
import { catalogue, questions } from "../plugins/registries/_catalogue.ts";
import { type Wire, wire } from "../plugins/registries/_registry.ts";

const toEntries = (wires: readonly Wire[]) =>
  wires.flatMap((one) => readEntry(one, "https://registry.example.com") ?? []);

const entries = toEntries(catalogue);
const createIndex = async (given: typeof entries) =>
  createRegistryIndex(given, await createRanker("fusion", { fusion: { gate: 0 } }));

/** Returns the results of a registry for these words. */
function substring(query: string): readonly string[] {
  const text = query.toLowerCase();
  return entries
    .filter(({ name, description }) => `${name}\n${description}`.toLowerCase().includes(text))
    .map(({ name }) => name);
}

test("queries that no description holds word by word are answered", async () => {
  const index = await createIndex(entries);
  let [first, among, bySubstring] = [0, 0, 0];
  const missed: string[] = [];
  for (const [query, name] of questions) {
    const found = (await index.rank(query, 3)).map(({ entry }) => entry.name);
    if (found[0] === name) first++;
    if (found.includes(name)) among++;
    else missed.push(`${query}: ${found.join(", ")}`);
    if (substring(query).includes(name)) bySubstring++;
  }
  expect(entries.length).toBeGreaterThanOrEqual(40);
  expect(bySubstring).toBe(0);
  expect(missed).toEqual([]);
  expect(among).toBe(questions.length);
  expect(first).toBeGreaterThanOrEqual(22);
});

describe("a server", () => {
  test("comes first when its name is asked for", async () => {
    const index = await createIndex(entries);
    for (const { name } of entries) {
      const [hit] = await index.rank(name, 3);
      expect(hit).toEqual({ entry: entries.find((entry) => entry.name === name), relevance: 1 });
    }
  });

  test("that is deprecated comes behind its like, and a deleted one only by its name", async () => {
    const text = { description: "Send postcards to friends." };
    const index = await createIndex(
      toEntries([
        wire("com.a/postcards", text, { status: "deprecated" }),
        wire("com.b/postcards", text, { status: "deleted" }),
        wire("com.c/postcards", text),
      ]),
    );
    const names = async (query: string) =>
      (await index.rank(query, 5)).map(({ entry }) => `${entry.name} ${entry.status}`);
    expect(await names("send a postcard")).toEqual(["com.c/postcards active", "com.a/postcards deprecated"]);
    expect((await names("com.b/postcards"))[0]).toBe("com.b/postcards deleted");
  });

  test("is not found by nonsense, and an empty index finds nothing", async () => {
    expect(await (await createIndex(entries)).rank("xyzzy plugh", 5)).toEqual([]);
    const index = await createIndex([]);
    expect(await index.rank("anything", 5)).toEqual([]);
    expect(await index.rank("", 5)).toEqual([]);
  });
});

test("thousands of servers can be searched", async () => {
  const large = Array.from({ length: 4_000 }, (_, index) => {
    const { server } = catalogue[index % catalogue.length] as Wire;
    return wire(`io.github.u${index}/${server.name.split("/")[1]}`, { description: server["description"] });
  });
  const index = await createIndex(toEntries(large));
  const hits = await index.rank("weather forecast", 5);
  expect(hits).toHaveLength(5);
  for (const { entry } of hits) expect(entry.name).toContain("weather-station");
}, 60_000);
