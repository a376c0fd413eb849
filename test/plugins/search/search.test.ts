import { describe, expect, test } from "vitest";
import { createGateway, type Gateway, type Tool } from "../../../core/mod.ts";
import { type Ranker, search } from "../../../plugins/search/mod.ts";

const inputSchema = { type: "object" };

/** A ranker that finds everything, and remembers when it was given tools. */
function counting(): Ranker & { readonly updates: [string, ...string[]][] } {
  const updates: [string, ...string[]][] = [];
  const tools = new Map<string, readonly Tool[]>();
  return {
    name: "counting",
    updates,
    update(server, given) {
      tools.set(server, given);
      updates.push([server, ...given.map(({ name }) => name)]);
    },
    rank: () => ({
      hits: [...tools.values()].flat().map((tool) => ({ tool, relevance: 1 })),
      nearest: [],
    }),
  };
}

async function found(gateway: Gateway, query: string): Promise<string[] | undefined> {
  return (await gateway.services.search?.(query))?.hits.map(({ tool }) => tool.id);
}

test("the tools of the catalog are found, and those of the gateway itself are not", async () => {
  const gateway = await createGateway({ plugins: [search()] });
  await gateway.catalog.replace({ id: "files" }, [{ name: "read_file", inputSchema }]);
  await gateway.catalog.replace({ id: "own", builtin: true }, [{ name: "read_file", inputSchema }]);
  expect(await found(gateway, "read_file")).toEqual(["files:read_file"]);
  await gateway.close();
});

test("a tool that a plugin has switched off is not found", async () => {
  const gateway = await createGateway({
    plugins: [
      search(),
      {
        name: "rules",
        setup: () => ({
          "tool:discover": (tool) => {
            tool.enabled = tool.name !== "delete_file";
          },
        }),
      },
    ],
  });
  const tools = ["read_file", "delete_file"].map((name) => ({ name, inputSchema }));
  await gateway.catalog.replace({ id: "files" }, tools);
  expect(await found(gateway, "file")).toEqual(["files:read_file"]);
  await gateway.close();
});

test("the limit and the server are handed on to the ranker", async () => {
  const asked: unknown[] = [];
  const ranker: Ranker = {
    name: "asked",
    update() {},
    rank(...args) {
      asked.push(args);
      return { hits: [], nearest: [] };
    },
  };
  const gateway = await createGateway({ plugins: [search({ ranker })] });
  await gateway.services.search?.("query", { server: "s", limit: 3 });
  await gateway.services.search?.("query");
  expect(asked).toEqual([
    ["query", { server: "s", limit: 3 }],
    ["query", undefined],
  ]);
  await gateway.close();
});

test("servers are indexed when it is first asked, and again only where the catalog has changed", async () => {
  const ranker = counting();
  const gateway = await createGateway({ plugins: [search({ ranker })] });
  await gateway.catalog.replace({ id: "a" }, [{ name: "one", inputSchema }]);
  await gateway.catalog.replace({ id: "b" }, [{ name: "two", inputSchema }]);
  expect(ranker.updates).toEqual([]);
  await found(gateway, "x");
  await found(gateway, "y");
  expect(ranker.updates.splice(0)).toEqual([
    ["a", "one"],
    ["b", "two"],
  ]);
  await gateway.catalog.replace({ id: "b" }, [{ name: "three", inputSchema }]);
  await found(gateway, "x");
  expect(ranker.updates.splice(0)).toEqual([["b", "three"]]);
  await gateway.catalog.remove("a");
  expect(await found(gateway, "x")).toEqual(["b:three"]);
  expect(ranker.updates).toEqual([["a"]]);
  await gateway.close();
});

test("two gateways do not share an index", async () => {
  const gateways = await Promise.all([
    createGateway({ plugins: [search()] }),
    createGateway({ plugins: [search()] }),
  ]);
  await gateways[0].catalog.replace({ id: "a" }, [{ name: "one", inputSchema }]);
  expect(await found(gateways[0], "one")).toEqual(["a:one"]);
  expect(await found(gateways[1], "one")).toEqual([]);
  await Promise.all(gateways.map((gateway) => gateway.close()));
});

describe("the option ranker", () => {
  test.each([[null], ["simpel"], [{}]])("cannot be %j", (ranker) => {
    expect(() => search({ ranker: ranker as never })).toThrow(
      /ranker: expected a ranker, or the name of one \(.*keyword, tag, simple\)/,
    );
  });
});
