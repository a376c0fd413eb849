import { once } from "node:events";
import { readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { createGateway, type JsonObject } from "../../core/mod.ts";
import { serveHttp } from "../../plugins/serve/mod.ts";
import { catchFailure } from "../support/failure.ts";
import { place } from "../support/place.ts";
import { runCli, runMain } from "../support/run-cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { loadUserConfig, openFolder, openUserGateway, userFolder } from "./_open.ts";

/** Two tools of which one may change something; a user has them in a plugin of their own. */
const notes = `
  import { localTools, textResult } from "toolpipe";
  let reads = 0;
  const inputSchema = { type: "object" };
  export default localTools("notes", { id: "notes", title: "Notes" }, [
    { name: "read", description: "Reads a note.", inputSchema, annotations: { readOnlyHint: true }, run: () => textResult("note " + ++reads) },
    { name: "append", description: "Appends a line to a note.", inputSchema, run: () => textResult("done") },
  ]);`;
const files = { "notes.ts": notes };

/** The text of a result. */
const readText = (call: { readonly result: unknown }): string =>
  ((call.result as { content: { text: string }[] } | undefined)?.content ?? [])
    .map(({ text }) => text)
    .join("");

describe("a policy", () => {
  const config = { plugins: ["./notes.ts", "./policy.ts"] };

  test("denies what its server does not mark as read-only", async () => {
    const { gateway } = await openUserGateway(config, ["policy.ts"], files);
    expect((await gateway.run({ tool: "notes:read" })).ok).toBe(true);
    const { stage, error } = await gateway.run({ tool: "notes:append" });
    expect({ stage, code: error?.code, data: error?.data }).toEqual({
      stage: "policy",
      code: "READ_ONLY",
      data: { tool: "notes:append" },
    });
  });

  test("lets through what its option allows", async () => {
    const options = { "read-only": { allow: ["notes:append"] } };
    const { gateway } = await openUserGateway({ ...config, options }, ["policy.ts"], files);
    expect(readText(await gateway.run({ tool: "notes:append" }))).toBe("done");
  });

  test("names the wrong option", async () => {
    const folder = await userFolder(
      { ...config, options: { "read-only": { alow: [] } } },
      ["policy.ts"],
      files,
    );
    const { message } = await catchFailure(loadUserConfig(folder));
    expect(message).toContain(join(folder, "toolpipe.config.json"));
    expect(message).toMatch(
      /"read-only" has a wrong option: options\.read-only\.alow: there is no such option/,
    );
  });

  test("is imported by a config in TypeScript, which checks its options", async () => {
    const { gateway } = await openUserGateway(
      `import { defineConfig } from "toolpipe";
       import { readOnly } from "./policy.ts";
       export default defineConfig({ plugins: ["./notes.ts", readOnly({ allow: ["notes:append"] })] });`,
      ["policy.ts"],
      files,
    );
    expect(readText(await gateway.run({ tool: "notes:append" }))).toBe("done");
  });
});

describe("a wrapper", () => {
  test("answers equal calls of one caller from what it keeps", async () => {
    const { gateway } = await openUserGateway(
      { plugins: ["./notes.ts", "./wrapper.ts"] },
      ["wrapper.ts"],
      files,
    );
    const read = async (id: string, args = {}): Promise<[string, string | undefined]> => {
      const call = await gateway.run({ tool: "notes:read", args, actor: { id, scopes: [] } });
      return [readText(call), call.via];
    };
    const [first] = await read("ada");
    expect(await read("ada")).toEqual([first, "memo"]);
    expect(await read("ada", { page: 2 })).not.toContain(first);
    expect(await read("bob")).not.toContain(first);
    const changing = [
      await gateway.run({ tool: "notes:append" }),
      await gateway.run({ tool: "notes:append" }),
    ];
    expect(changing.map(({ via }) => via)).toEqual([undefined, undefined]);
  });

  test("names the plugin that provides what it needs where that is missing", async () => {
    const own = `import { definePreset } from "toolpipe"; export default definePreset({ name: "own", plugins: [] });`;
    const config = { preset: "./own.ts", plugins: ["./wrapper.ts"] };
    const folder = await userFolder(config, ["wrapper.ts"], { "own.ts": own });
    const { message } = await catchFailure(loadUserConfig(folder).then(createGateway));
    expect(message).toContain('The plugin "memo" needs the service "cache"');
    expect(message).toContain('the plugin "cache"');
  });
});

describe("a ranker", () => {
  const search = async (ranker: unknown, query: string): Promise<string[] | undefined> => {
    const config = { plugins: ["./notes.ts"], search: { ranker } };
    const { gateway } = await openUserGateway(config, ["ranker.ts"], files);
    return (await gateway.services.search?.(query))?.hits.map(({ tool }) => tool.id);
  };

  test("ranks what is searched, by its path in the config", async () => {
    // The description of the other tool has a word, too; the built-in rankers know that "line" is no name.
    expect(await search("./ranker.ts", "read line")).toEqual(["notes:read", "notes:append"]);
    expect(await search({ type: "./ranker.ts", nameWeight: 0 }, "read line")).toEqual(["notes:append"]);
  });

  test("is measured by toolpipe eval", async () => {
    await place({
      project: {
        "ranker.ts": await readFile(new URL("ranker.ts", import.meta.url), "utf8"),
        "tools.jsonl": ["read_file", "write_file"]
          .map((name) => JSON.stringify({ server: "files", name, description: "" }))
          .join("\n"),
        "queries.jsonl": JSON.stringify({ query: "write a file", relevant: ["files:write_file"] }),
      },
    });
    const args = [
      "--tools",
      "tools.jsonl",
      "--queries",
      "queries.jsonl",
      "--ranker",
      "./ranker.ts",
      "--json",
    ];
    const { code, stdout, stderr } = await runMain(["eval", ...args]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout).rankers).toMatchObject([{ ranker: "./ranker.ts", recall1: 1 }]);
  });

  test("that is no driver is refused at the start", async () => {
    const config = { search: { ranker: "./ranker.ts" } };
    const folder = await userFolder(config, [], { "ranker.ts": "export default { name: 'mine' };" });
    const { message } = await catchFailure(loadUserConfig(folder).then(createGateway));
    expect(message).toBe(
      'ranker: expected "./ranker.ts" to export a function that creates one from its options, found a value of the type object',
    );
  });
});

test("an embedder is used by the ranker of meanings, by its path in the config", async () => {
  const embedding = { embedder: { type: "./embedder.ts", dimensions: 256 } };
  const config = { plugins: ["./notes.ts"], search: { ranker: "embedding", embedding } };
  const { gateway } = await openUserGateway(config, ["embedder.ts"], files);
  // No word of the query is one of the tools: only what is written alike leads there.
  const found = await gateway.services.search?.("appending", { explain: true });
  expect(found?.hits[0]?.tool.id).toBe("notes:append");
});

test("an emitter writes the files of toolpipe export", async () => {
  await place({
    project: {
      "emitter.ts": await readFile(new URL("emitter.ts", import.meta.url), "utf8"),
      "toolpipe.config.json": { mcpServers: { notes: stdioServer } },
    },
  });
  const { code, stdout, stderr } = await runMain([
    "export",
    "notes",
    "--format",
    "./emitter.ts",
    "--out",
    "pages",
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("1 file in pages");
  const page = await readFile("pages/notes/read.md", "utf8").catch(() => stdout);
  expect(page).toBe(
    "# mcp.notes.read\n\nReads a note.\n\n- page (integer, required) The number of the page.\n",
  );
});

/** A small server over stdio. */
const told = {
  tools: [
    {
      name: "read",
      description: "Reads a note.",
      inputSchema: {
        type: "object",
        properties: { page: { type: "integer", description: "The number of the page." } },
        required: ["page"],
      },
    },
  ],
  answers: { read: { content: [{ type: "text", text: "a note" }] } },
};
const stdioServer = {
  command: "node",
  args: [new URL("../fixtures/told-mcp.mjs", import.meta.url).pathname, JSON.stringify(told)],
};

describe("a source", () => {
  const line = `node ${stdioServer.args[0]}`;
  const team = { team: { notes: line, web: "https://tools.example/mcp", broken: 1 } };

  test("brings the servers of a file, once a user has approved them", async () => {
    const { project } = await place({
      project: {
        "source.ts": await readFile(new URL("source.ts", import.meta.url), "utf8"),
        "team-servers.json": team,
        "toolpipe.config.json": { sources: [{ type: "./source.ts" }] },
      },
    });
    const { stdout } = await runMain(["list", "--json"]);
    const rows = JSON.parse(stdout).servers as JsonObject[];
    expect(rows.map(({ name, status }) => [name, status])).toEqual([
      ["notes", "disconnected"],
      ["web", "disconnected"],
    ]);
    const { stdout: sources } = await runMain(["config", "sources"]);
    expect(sources).toContain(join(project, "team-servers.json"));
  });
});

test("an upstream connects to the servers that name it, by its path in the config", async () => {
  const command = new URL("_tools.mjs", import.meta.url).pathname;
  const config = { mcpServers: { own: { driver: "./upstream.ts", command } } };
  const { gateway } = await openUserGateway(config, ["upstream.ts"]);
  await gateway.services.servers?.refresh("own");
  expect(gateway.catalog.tools("own").map(({ name }) => name)).toContain("echo");
  const call = await gateway.run({ tool: "own:echo", args: { text: "hello" } });
  expect(readText(call)).toBe("hello");
  expect((await gateway.run({ tool: "own:fail" })).result?.isError).toBe(true);
});

test("an upstream that needs neither a command nor a URL is named alone, also by a name that a plugin registers", async () => {
  const plugin = `
    import { definePlugin, textResult } from "toolpipe";
    const tools = [{ name: "now", inputSchema: { type: "object" } }];
    const lists = { rejected: [], resources: [], resourceTemplates: [], prompts: [] };
    export const clock = definePlugin({
      name: "clock",
      drivers: {
        upstream: {
          clock: {
            connect: async () => ({
              info: { name: "clock" },
              list: async () => ({ tools, ...lists }),
              call: async () => textResult("12:00"),
              close: async () => {},
            }),
          },
        },
      },
      setup: () => ({}),
    });`;
  const config = { plugins: ["./clock.ts"], mcpServers: { wall: { driver: "clock" } } };
  const { gateway, errors } = await openUserGateway(config, [], { "clock.ts": plugin });
  expect(readText(await gateway.run({ tool: "wall:now" }))).toBe("12:00");
  expect(errors).toEqual([]);
});

test("drivers that a plugin declares are named in the config, of stores that open before it is set up", async () => {
  const plugin = `
    import { definePlugin } from "toolpipe";
    import { memoryStore } from "toolpipe/plugins/state";
    const opened: string[] = [];
    globalThis.openedDrivers = opened;
    const note = (kind: string) => void opened.push(kind);
    const items = new Map();
    export const mine = definePlugin({
      name: "mine",
      drivers: {
        stateStore: { mine: () => (note("stateStore"), memoryStore()) },
        auditSink: { mine: () => (note("auditSink"), { write: async () => {}, close: async () => {} }) },
        cacheStorage: {
          mine: () => (note("cacheStorage"), {
            getItemRaw: async (key: string) => items.get(key) ?? null,
            setItemRaw: async (key: string, value: unknown) => void items.set(key, value),
            removeItem: async (key: string) => void items.delete(key),
            getKeys: async () => [...items.keys()],
          }),
        },
      },
      setup: () => ({}),
    });`;
  const config = {
    plugins: ["./mine.ts"],
    state: { store: "mine" },
    audit: { sink: "mine" },
    cache: { storage: "mine" },
  };
  const { errors } = await openUserGateway(config, [], { "mine.ts": plugin });
  const { openedDrivers } = globalThis as { openedDrivers?: string[] };
  expect([openedDrivers?.toSorted(), errors]).toEqual([["auditSink", "cacheStorage", "stateStore"], []]);
});

test("a cache driver keeps what servers list for the next start", async () => {
  const kept = join(await temporaryFolder(), "kept.json");
  const config = {
    mcpServers: { notes: stdioServer },
    cache: { storage: { type: "./cache.ts", file: kept } },
    options: { upstreams: { useCache: true, discover: "none" } },
  };
  const folder = await userFolder(config, ["cache.ts"]);
  const first = (await openFolder(folder)).gateway;
  expect(first.catalog.tools("notes")).toEqual([]);
  await first.services.servers?.refresh("notes");
  await first.close();
  // No server is asked for its tools here.
  const next = (await openFolder(folder)).gateway;
  expect(next.catalog.tools("notes").map(({ id }) => id)).toEqual(["notes:read"]);
  await next.close();
  await rm(kept);
  expect((await openFolder(folder)).gateway.catalog.tools("notes")).toEqual([]);
});

test("a state driver keeps approvals for the next start, and for other gateways", async () => {
  const folder = await temporaryFolder();
  const config = { state: { store: { type: "./state.ts", file: join(folder, "state.json") } } };
  const open = async () => (await openUserGateway(config, ["state.ts"])).gateway.services.approvals;
  const [one, other] = [await open(), await open()];
  await one?.request("tool", "notes:read", "hash", "Reads a note.");
  expect(await other?.status("tool", "notes:read", "hash")).toBe("pending");
  await other?.approve("tool", "notes:read", "hash");
  expect(await (await open())?.status("tool", "notes:read", "hash")).toBe("approved");
  expect(await readFile(join(folder, "state.json"), "utf8")).toContain("notes:read");
});

test("an audit sink gets every record, and its failures are reported", async () => {
  const records: JsonObject[] = [];
  let status = 204;
  const service = createServer(async (request, response) => {
    records.push((await json(request)) as JsonObject);
    response.writeHead(status).end();
  }).listen(0, "127.0.0.1");
  await once(service, "listening");
  onTestFinished(() => void service.close());
  const url = `http://127.0.0.1:${(service.address() as AddressInfo).port}/records`;
  const config = { plugins: ["./notes.ts"], audit: { sink: { type: "./audit-sink.ts", url } } };
  const { gateway, errors } = await openUserGateway(config, ["audit-sink.ts"], files);
  await gateway.run({ tool: "notes:read" });
  await gateway.run({ tool: "notes:gone" });
  status = 500;
  await gateway.run({ tool: "notes:read" });
  await gateway.close();
  expect(records.slice(0, 3).map(({ event, tool_id, outcome }) => [event, tool_id, outcome])).toEqual([
    ["intent", "notes:read", "pending"],
    ["outcome", "notes:read", "ok"],
    ["denial", "notes:gone", "TOOL_NOT_FOUND"],
  ]);
  expect(errors.map(({ cause }) => (cause as Error | undefined)?.message)).toContain(
    `${new URL(url).host} answered with the status 500.`,
  );
});

describe("a command", () => {
  const config = { plugins: ["./command.ts"], mcpServers: { notes: stdioServer } };

  test("of a plugin in the config is run by the command line", async () => {
    const cwd = await userFolder(config, ["command.ts"]);
    const { code, stdout, stderr } = await runCli(["sizes", "--json"], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toEqual([{ server: "notes", tools: 1, characters: expect.any(Number) }]);
    expect(await runCli(["sizes", "nothing"], { cwd })).toMatchObject({ code: 1, stdout: "nothing\t0\t0\n" });
  });

  test("has a help like any other", async () => {
    const cwd = await userFolder(config, ["command.ts"]);
    const { stdout } = await runCli(["sizes", "--help"], { cwd });
    expect(stdout).toContain("Print how large the tools of each server are");
    expect(stdout).toContain("--json");
  });

  test("is found in the config that --config names", async () => {
    const folder = await userFolder(config, ["command.ts"]);
    await place();
    const { code, stdout } = await runMain(["sizes", "--config", join(folder, "toolpipe.config.json")]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringMatching(/^notes\t1\t\d+\n$/) });
  });

  test("that is not found because the config is broken names the cause", async () => {
    await place({ project: { "toolpipe.config.json": config } });
    const { code, stderr } = await runMain(["sizes"]);
    expect(code).toBe(1);
    expect(stderr).toContain('There is no command "sizes"');
    expect(stderr).toContain('"./command.ts" could not be loaded');
  });
});

test("a route answers over HTTP, to those that are known", async () => {
  const folder = await userFolder({ plugins: ["./notes.ts", "./route.ts"] }, ["route.ts"], files);
  const server = await serveHttp(await loadUserConfig(folder), { port: 0 });
  onTestFinished(() => server.close({ drainMs: 0 }));
  const get = async (path: string, init?: RequestInit): Promise<[number, string, string | null]> => {
    const response = await fetch(new URL(path, server.url), init);
    return [response.status, await response.text(), response.headers.get("x-actor")];
  };
  expect(await get("/tools.txt")).toEqual([200, "notes:read\nnotes:append\n", "local"]);
  expect(await get("/tools.txt?server=none")).toEqual([200, "", "local"]);
  expect((await get("/tools.txt", { method: "POST" }))[0]).toBe(405);
});
