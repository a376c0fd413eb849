import { describe, expect, test } from "vitest";
import {
  createGateway,
  definePreset,
  type Gateway,
  loadConfig,
  type Preset,
  type Tool,
} from "../../../core/mod.ts";
import type { Ranker } from "../../../core/services/search.ts";
import { search } from "../../../plugins/search/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const inputSchema = { type: "object" };

/** A ranker that finds everything, and records its updates. */
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
    ["query", {}],
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

test("two gateways have separate indexes", async () => {
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
  test.each([[null], [""], [{}]])("cannot be %j", (ranker) => {
    expect(() => search({ ranker: ranker as never })).toThrow(/ranker(\.type)?: expected a/);
  });
});

describe("a driver of a config", () => {
  const ranker = (name: string): string => `
    export default (options) => {
      const servers = new Map();
      return {
        name: ${JSON.stringify(name)},
        update: (server, tools) => void servers.set(server, tools),
        rank: () => ({
          hits: [...servers.values()].flat().map((tool) => ({ tool, relevance: options.relevance ?? 0.5 })),
          nearest: [],
        }),
      };
    };`;
  const embedder = `
    export default ({ name = "letters" }) => {
      const vector = (text) => Float32Array.from([/a/.test(text) ? 1 : 0, /a/.test(text) ? 0 : 1]);
      return {
        name,
        hash: name,
        dimensions: 2,
        isSync: true,
        embedQueries: (texts) => texts.map(vector),
        embedTools: (tools) => tools.map((tool) => vector(tool.name)),
      };
    };`;
  const openConfig = async (searchOptions: object): Promise<Gateway> => {
    const folder = await temporaryFolder({
      "toolpipe.config.json": JSON.stringify({ plugins: [], options: { search: searchOptions } }),
      "my-ranker.mjs": ranker("mine"),
      "my-embedder.mjs": embedder,
    });
    const preset = async (): Promise<Preset> =>
      definePreset({ name: "small", plugins: [search()], tools: [] });
    const config = await loadConfig({
      presets: { small: preset },
      preset: "small",
      file: `${folder}/toolpipe.config.json`,
    });
    const gateway = await openGateway(config);
    await gateway.catalog.replace({ id: "s" }, [
      { name: "papa", inputSchema },
      { name: "lolo", inputSchema },
    ]);
    return gateway;
  };

  test("is a ranker by its path", async () => {
    const gateway = await openConfig({ ranker: "./my-ranker.mjs" });
    expect(await found(gateway, "anything")).toEqual(["s:papa", "s:lolo"]);
  });

  test("is a ranker by its path, with options of its own", async () => {
    const gateway = await openConfig({ ranker: { type: "./my-ranker.mjs", relevance: 0.25 } });
    expect((await gateway.services.search?.("x"))?.hits[0]?.relevance).toBe(0.25);
  });

  test("is an embedder by its path, alone or with options", async () => {
    for (const choice of ["./my-embedder.mjs", { type: "./my-embedder.mjs", name: "other" }]) {
      const gateway = await openConfig({ ranker: "embedding", embedding: { embedder: choice } });
      expect((await found(gateway, "aaa"))?.[0]).toBe("s:papa");
      expect((await found(gateway, "zzz"))?.[0]).toBe("s:lolo");
    }
  });

  test("is one that another plugin registers", async () => {
    const own = counting();
    const gateway = await openGateway({
      plugins: [
        search({ ranker: "counting" }),
        { name: "own", setup: (own_) => own_.register("ranker", "counting", () => own) },
      ],
    });
    await gateway.catalog.replace({ id: "a" }, [{ name: "one", inputSchema }]);
    expect(await found(gateway, "x")).toEqual(["a:one"]);
    expect(own.updates).toEqual([["a", "one"]]);
  });

  test.each([
    [{ ranker: "simpel" }, /There is no ranker "simpel"; did you mean "simple"\?/],
    [{ ranker: "./missing.mjs" }, /missing\.mjs/],
    [{ embedding: { embedder: "statik" } }, /There is no embedder "statik"; did you mean "static"\?/],
  ])("that is not there ends the start: %j", async (options, message) => {
    await expect(openConfig(options)).rejects.toThrow(message);
  });
});
