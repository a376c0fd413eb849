import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdir, symlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { beforeAll, expect, onTestFinished } from "vitest";
import { errorKinds, isJsonObject, type JsonObject, localTools, textResult } from "../../core/mod.ts";
import { memorySink } from "../../plugins/audit/mod.ts";
import { anygpt, createDiscoveryEngine } from "../../presets/anygpt/mod.ts";
import config from "../../vitest.config.ts";
import { openGateway } from "../support/open-gateway.ts";
import { runCli } from "../support/run-cli.ts";
import { type Serving, toolpipeCommand } from "../support/start-serve.ts";
import { isAlive } from "../support/stdio-servers.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { until } from "../support/until.ts";
import { partRows } from "./003/parts.ts";
import { folderForAll, serveForAll, toldServer } from "./shared.ts";
import { specification } from "./specification.ts";
import { createdIssue, servers, toEntries } from "./stage.ts";

const spec = specification("003");
const { row, differs, prose, done } = spec;

const execute = promisify(execFile);
const five = ["list_mcp_servers", "search_tools", "list_tools", "get_tool_details", "execute_tool"];
const hello = {
  protocolVersion: "2025-06-18",
  capabilities: {},
  clientInfo: { name: "rows", version: "1" },
};
const issue = { repo: "owner/repo", title: "Bug", body: "..." };
const toRun = (server: string, tool: string, args: object = {}): object => ({
  server,
  tool,
  arguments: args,
});

let folder: string;
let server: Serving;
let greeting: JsonObject;
let ended: Readonly<Record<string, JsonObject>>;

// One process over stdio with real servers behind it, from an anygpt.config.ts, answers all rows that need no other.
beforeAll(async () => {
  folder = await folderForAll({
    "anygpt.config.ts": `export default ${JSON.stringify({
      discovery: {
        enabled: true,
        cache: { enabled: true, ttl: 3600 },
        servers: toEntries(),
        toolRules: [
          { pattern: ["*issue*"], tags: ["github", "issues"] },
          { pattern: ["*delete*"], enabled: false },
        ],
      },
    })};`,
  });
  server = await serveForAll(["--config", "anygpt.config.ts"], folder);
  greeting = await server.request("initialize", hello);
  server.write('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  await until(async () => {
    const rows = (await answer("list_mcp_servers"))["servers"] as JsonObject[];
    return rows.every(({ reason, toolCount }) => reason !== undefined || Number(toolCount) > 0);
  }, 30_000);
  const [SIGINT, SIGTERM] = await Promise.all([end("SIGINT"), end("SIGTERM")]);
  ended = { SIGINT, SIGTERM };
});

/** Starts a gateway with a server behind it, ends it by a signal, and tells what is left. */
async function end(signal: "SIGINT" | "SIGTERM"): Promise<JsonObject> {
  const config = { mcpServers: { faulty: servers.faulty } };
  const cwd = await folderForAll({ "toolpipe.config.json": JSON.stringify(config) });
  const own = await serveForAll(["--config", "toolpipe.config.json"], cwd);
  await own.request("initialize", hello);
  const target = { name: "execute_tool", arguments: toRun("faulty", "process") };
  const { result } = await own.request("tools/call", target);
  const { pid } = JSON.parse(textOf(result as JsonObject)) as { pid: number };
  const listRecords = (): string[] =>
    readdirSync(own.home, { recursive: true, encoding: "utf8" }).filter((file) =>
      /(?:^|[/\\])running[/\\][^/\\]+$/.test(file),
    );
  await until(() => listRecords().length > 0);
  const wasUp = isAlive(pid);
  // Not `child.kill`, after which Deno calls every end one by that signal.
  process.kill(own.pid, signal);
  const [code] = await own.exit;
  await until(() => !isAlive(pid)).catch(() => {});
  return { wasUp, code, isLeft: isAlive(pid), records: listRecords() };
}

/** Calls a tool over stdio, and returns the result as the client gets it. */
async function call(name: string, args: object = {}): Promise<JsonObject> {
  const message = await server.request("tools/call", { name, arguments: args });
  if (isJsonObject(message["result"])) return message["result"];
  throw new Error(JSON.stringify(message));
}

function textOf(result: JsonObject): string {
  const [block, ...others] = result["content"] as JsonObject[];
  expect(others).toEqual([]);
  expect(block?.["type"]).toBe("text");
  return String(block?.["text"]);
}

/** Calls a meta-tool over stdio, and returns the JSON in its one block of text. */
async function answer(name: string, args: object = {}): Promise<JsonObject> {
  const result = await call(name, args);
  if (result["isError"]) throw new Error(textOf(result));
  return JSON.parse(textOf(result)) as JsonObject;
}

async function definitionOf(name: string): Promise<JsonObject> {
  const { tools } = (await server.request("tools/list"))["result"] as { tools: JsonObject[] };
  const tool = tools.find((each) => each["name"] === name);
  if (!tool) throw new Error(`${name} is not listed`);
  return tool;
}

/** The JSON-RPC number in the notes of a failed result. */
function numberOf(result: JsonObject): unknown {
  expect(result["isError"]).toBe(true);
  return (result["_meta"] as JsonObject | undefined)?.["toolpipe/rpcCode"];
}

async function median(times: number, run: () => Promise<unknown>): Promise<number> {
  const taken: number[] = [];
  for (let turn = 0; turn < times; turn++) {
    const start = performance.now();
    await run();
    taken.push(performance.now() - start);
  }
  return taken.toSorted((a, b) => a - b)[Math.floor(times / 2)] ?? Number.NaN;
}

// Title, status and headings.
prose("1-5", 7, 15, 17, 34, 36, 40, 47, 67, 73, 77, 79, 92, 106, 121, 123, 149, 170, 185, 187, 209, 226, 228);
prose(250, 271, 273, 299, 327, 340, 353, 357, 362, 371, 388, 392, 398, 409, 411, 413, 447, 454, 456, 458);
prose(465, 467, 471, 473, 490, 492, 500, 508);

row(
  "9",
  "An agent with 120 servers behind the gateway sees five meta-tools, and finds tools of all.",
  async () => {
    const many = Array.from({ length: 120 }, (_, index) =>
      localTools(`server-${index}`, { id: `server-${index}` }, [
        { name: `task_${index}`, inputSchema: {}, run: () => textResult(String(index)) },
      ]),
    );
    const gateway = await openGateway({ preset: anygpt, plugins: many });
    expect(gateway.tools.map(({ name }) => name)).toEqual(five);
    const engine = await gateway.run({ tool: "anygpt:search_tools", args: { query: "task_119" } });
    expect(engine.ok && JSON.stringify(engine.result)).toContain("server-119");
  },
);

row("11", "Agents use it as an MCP server.", () => {
  expect(greeting["result"]).toMatchObject({
    serverInfo: { name: expect.any(String) },
    capabilities: { tools: {} },
  });
});

row("13", "One connection is enough to find a tool and to execute it.", async () => {
  const { results } = (await answer("search_tools", { query: "create github issue" })) as {
    results: JsonObject[];
  };
  expect(results[0]).toMatchObject({ server: "github", tool: "create_issue" });
  expect(JSON.stringify(await call("execute_tool", toRun("github", "create_issue", issue)))).toContain("123");
});

row(
  "19-32",
  "Agent, stdio, the five tools, the engine, the real servers: a call goes through all of them.",
  async () => {
    const { tools } = (await server.request("tools/list"))["result"] as { tools: JsonObject[] };
    expect(tools.map(({ name }) => name)).toEqual(five);
    const { pid } = JSON.parse(textOf(await call("execute_tool", toRun("faulty", "process")))) as {
      pid: number;
    };
    expect(pid).not.toBe(server.pid);
    expect(isAlive(pid)).toBe(true);
  },
);

row("38", "The server speaks MCP over standard input and output.", () => {
  expect(greeting).toMatchObject({ jsonrpc: "2.0", result: { protocolVersion: "2025-06-18" } });
});
row("41", "It starts on stdio.", () => expect(server.child.exitCode).toBeNull());
row("42", "It answers the handshake with version, capabilities and its name.", () => {
  expect(greeting["result"]).toMatchObject({
    protocolVersion: hello.protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: "toolpipe", version: expect.any(String) },
  });
});
row("43", "The meta-tools are registered.", async () => {
  for (const name of five) expect(await definitionOf(name)).toMatchObject({ name });
});
row("44", "A call reaches the handler of the tool that it names.", async () => {
  expect(await answer("list_mcp_servers")).toHaveProperty("servers");
  expect(await answer("list_tools", { server: "github" })).toHaveProperty("tools");
});
row("45", "A failing call is answered, and the server goes on.", async () => {
  expect(await call("execute_tool", toRun("github", "nothing"))).toMatchObject({ isError: true });
  expect(await server.request("ping")).toMatchObject({ result: {} });
});

const ownServer =
  "The server side is the project's own, because it costs a fifth a call, and the official conformance suite checks it; the first SDK is a maintenance line, so its successor is used as client.";
differs(
  "48-50, 68",
  "Server and transport come from the MCP SDK.",
  ownServer,
  async () => {
    const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
    expect(Object.keys(dependencies)).toContain("@modelcontextprotocol/client");
    expect(Object.keys(dependencies)).not.toContain("@modelcontextprotocol/sdk");
    const client = new Client({ name: "v1", version: "1" });
    const [command, ...args] = toolpipeCommand;
    const where = ["serve", "--config", join(folder, "anygpt.config.ts")];
    await client.connect(new StdioClientTransport({ command, args: [...args, ...where], stderr: "ignore" }));
    const { tools } = await client.listTools();
    await client.close();
    expect(tools.map(({ name }) => name)).toEqual(five);
  },
  60_000,
);
row("69", "Messages are lines on standard input and output.", async () => {
  server.write('{"jsonrpc":"2.0","id":"by hand","method":"ping"}');
  expect(await server.answer("by hand")).toEqual({ jsonrpc: "2.0", id: "by hand", result: {} });
});
differs("70", "The SDK's request handler lists the tools.", ownServer, async () => {
  const { result } = (await server.request("tools/list")) as { result: { tools: JsonObject[] } };
  expect(result.tools).toHaveLength(5);
});
differs("71", "The SDK's request handler takes calls of tools.", ownServer, async () => {
  expect(await call("list_mcp_servers")).toMatchObject({ content: [{ type: "text" }] });
});

row("75", "There are five meta-tools, and each answers.", async () => {
  await answer("list_mcp_servers");
  await answer("search_tools", { query: "issue" });
  await answer("list_tools", { server: "github" });
  await answer("get_tool_details", { server: "github", tool: "create_issue" });
  expect(await call("execute_tool", toRun("github", "list_repos"))).not.toHaveProperty("isError");
});

row("80-90", "list_mcp_servers is described and takes no parameters.", async () => {
  const { description, inputSchema } = await definitionOf("list_mcp_servers");
  expect(description).toMatch(/list all .*MCP servers/i);
  expect(inputSchema).toMatchObject({ type: "object", properties: {} });
  expect(inputSchema).not.toHaveProperty("required.0");
});
row("93-104", "It answers with the engine's servers, as JSON in one block of text.", async () => {
  const result = await call("list_mcp_servers");
  expect(JSON.parse(textOf(result))).toMatchObject({ servers: expect.any(Array) });
});
row("107-119", "A server has name, description, both counts of tools and a status.", async () => {
  const { servers: rows } = (await answer("list_mcp_servers")) as { servers: JsonObject[] };
  expect(rows.find(({ name }) => name === "github")).toEqual({
    name: "github",
    description: "GitHub API integration",
    toolCount: 4,
    enabledCount: 3,
    status: "connected",
  });
  expect(rows.find(({ name }) => name === "limited")).toMatchObject({ toolCount: 1, enabledCount: 1 });
});

row("124-147", "search_tools takes query, and optionally server and limit, 10 by default.", async () => {
  const { description, inputSchema } = await definitionOf("search_tools");
  expect(description).toMatch(/search .*tools .*free text/i);
  expect(inputSchema).toMatchObject({
    type: "object",
    properties: {
      query: { type: "string" },
      server: { type: "string", description: expect.stringMatching(/server/) },
      limit: { type: expect.stringMatching(/number|integer/), description: expect.stringMatching(/10/) },
    },
    required: ["query"],
  });
});
row(
  "150-168",
  "It searches with the server and the limit that are given; without a limit, or with 0, at most 10 come.",
  async () => {
    const found = async (args: object): Promise<JsonObject[]> =>
      (await answer("search_tools", args))["results"] as JsonObject[];
    expect(await found({ query: "issue", server: "limited" })).toMatchObject([{ server: "limited" }]);
    expect(await found({ query: "issue", limit: 1 })).toHaveLength(1);
    const many = Array.from({ length: 30 }, (_, index) => ({
      name: `count_${index}`,
      inputSchema: {},
      run: () => textResult(""),
    }));
    const gateway = await openGateway({
      preset: anygpt,
      plugins: [localTools("many", { id: "many" }, many)],
      options: { answers: { searchTokens: 5_000 } },
    });
    for (const args of [{ query: "count" }, { query: "count", limit: 0 }]) {
      const settled = await gateway.run({ tool: "anygpt:search_tools", args });
      expect(settled.ok && JSON.parse(String(settled.result.content[0]?.["text"])).results).toHaveLength(10);
    }
  },
);
row("171-183", "A result has server, tool, summary, relevance and tags.", async () => {
  const { results } = (await answer("search_tools", { query: "create github issue" })) as {
    results: JsonObject[];
  };
  expect(results[0]).toEqual({
    server: "github",
    tool: "create_issue",
    summary: "Create a new GitHub issue",
    relevance: expect.any(Number),
    tags: ["github", "issues"],
  });
  expect(results[0]?.["relevance"]).toBeGreaterThan(0.7);
});

row("188-207", "list_tools takes server, and optionally includeDisabled.", async () => {
  const { description, inputSchema } = await definitionOf("list_tools");
  expect(description).toMatch(/list .*tools .*MCP server/i);
  expect(inputSchema).toMatchObject({
    type: "object",
    properties: { server: { type: "string" }, includeDisabled: { type: "boolean" } },
    required: ["server"],
  });
});
row(
  "210-224",
  "It answers with the server and its tools, and with disabled ones only where they are asked for.",
  async () => {
    const names = async (args: object): Promise<unknown[]> => {
      const { server: name, tools } = (await answer("list_tools", args)) as {
        server: string;
        tools: JsonObject[];
      };
      expect(name).toBe("github");
      return tools.map((tool) => tool["name"]);
    };
    const enabled = ["create_issue", "update_issue", "list_repos"];
    expect(await names({ server: "github" })).toEqual(enabled);
    expect(await names({ server: "github", includeDisabled: false })).toEqual(enabled);
    expect(await names({ server: "github", includeDisabled: true })).toEqual([...enabled, "delete_repo"]);
  },
);

row("229-248", "get_tool_details takes server and tool.", async () => {
  const { description, inputSchema } = await definitionOf("get_tool_details");
  expect(description).toMatch(/tool .*parameters/i);
  expect(inputSchema).toMatchObject({
    type: "object",
    properties: { server: { type: "string" }, tool: { type: "string" } },
    required: ["server", "tool"],
  });
});
row(
  "251-269",
  "It answers with the details of the tool, and says of an unknown one that it is not there.",
  async () => {
    expect(await answer("get_tool_details", { server: "github", tool: "create_issue" })).toMatchObject({
      server: "github",
      tool: "create_issue",
      description: "Create a new GitHub issue",
      parameters: [
        {
          name: "repo",
          type: "string",
          description: expect.stringContaining("Repository name"),
          required: true,
        },
        { name: "title", required: true },
        { name: "body", required: false },
      ],
    });
    const failed = await call("get_tool_details", { server: "github", tool: "create_isue" });
    expect(failed["isError"]).toBe(true);
    expect(textOf(failed)).toContain("github:create_isue");
  },
);

row("274-297", "execute_tool takes server, tool and arguments, all of them required.", async () => {
  const { description, inputSchema } = await definitionOf("execute_tool");
  expect(description).toMatch(/execute a tool .*any .*MCP server/i);
  expect(inputSchema).toMatchObject({
    type: "object",
    properties: { server: { type: "string" }, tool: { type: "string" }, arguments: { type: "object" } },
    required: ["server", "tool", "arguments"],
  });
});
row(
  "300-325",
  "It executes the tool and gives its result; a failure is answered with its message.",
  async () => {
    const result = await call("execute_tool", toRun("github", "create_issue", issue));
    expect(JSON.parse(textOf(result))).toEqual(createdIssue);
    const failed = await call("execute_tool", toRun("limited", "create_issue", issue));
    expect(failed["isError"]).toBe(true);
    expect(textOf(failed)).toContain("API rate limit exceeded");
  },
);

row("374", "Discovery is enabled by default.", async () => {
  const engine = await createDiscoveryEngine({});
  expect(engine.getConfig().enabled).toBe(true);
  await engine.close();
});
row("375-378", "The cache is on by default, and keeps for one hour.", async () => {
  const engine = await createDiscoveryEngine({});
  expect(engine.getConfig().cache).toEqual({ enabled: true, ttl: 3600 });
  await engine.close();
});

const signals = ["SIGINT", "SIGTERM"] as const;
row("390, 589-593, 596", "The server starts, and ends in order.", () => {
  expect(isAlive(server.pid)).toBe(true);
  expect(ended["SIGTERM"]).toMatchObject({ wasUp: true, code: 0 });
});
row("393", "It starts.", () => expect(ended["SIGINT"]).toMatchObject({ wasUp: true }));
row("394, 597", "It ends in order on SIGINT and on SIGTERM.", () => {
  for (const signal of signals) expect(ended[signal]).toMatchObject({ code: 0 });
});
row("395, 598", "The servers behind it end with it.", () => {
  for (const signal of signals) expect(ended[signal]).toMatchObject({ isLeft: false });
});
row("396, 599", "Nothing is left of it, not even its record among the running gateways.", () => {
  for (const signal of signals) expect(ended[signal]).toMatchObject({ records: [] });
});

row(
  "416-422",
  'A search for "github issue create" puts github:create_issue first, with a high relevance.',
  async () => {
    const { results } = (await answer("search_tools", { query: "github issue create" })) as {
      results: JsonObject[];
    };
    expect(results[0]).toMatchObject({ server: "github", tool: "create_issue" });
    expect(results[0]?.["relevance"]).toBeGreaterThanOrEqual(0.85);
  },
);
row("424-428", "Its details name the parameters with their types.", async () => {
  expect(await answer("get_tool_details", { server: "github", tool: "create_issue" })).toMatchObject({
    parameters: [
      { name: "repo", type: "string" },
      { name: "title", type: "string" },
      { name: "body", type: "string" },
    ],
  });
});
row(
  "430-432, 440-445",
  "Executing it creates the issue, and the agent gets number and address.",
  async () => {
    const result = await call("execute_tool", toRun("github", "create_issue", issue));
    expect(result["structuredContent"]).toMatchObject({ issue_number: 123, url: createdIssue.url });
  },
);
row("433-436", "The rules are asked before a tool runs.", async () => {
  const refused = await call("execute_tool", toRun("github", "delete_repo"));
  expect(refused["isError"]).toBe(true);
  expect(textOf(refused)).toContain("disabled");
});
row("437-439", "A server that is not connected is connected by the call.", async () => {
  const engine = await createDiscoveryEngine(
    { servers: toEntries(["github"]) },
    { options: { cache: { enabled: false }, upstreams: { discover: "none" } } },
  );
  try {
    expect(engine.gateway.services.servers?.status("github")?.status).toBe("disconnected");
    expect(await engine.executeTool("github", "create_issue", issue)).toMatchObject({ success: true });
    expect(await engine.listServers()).toMatchObject([{ status: "connected" }]);
  } finally {
    await engine.close();
  }
});

const tokens = (value: unknown): number => encode(JSON.stringify(value)).length;
const spent = {
  initial: async () => tokens((await server.request("tools/list"))["result"]),
  search: async () => tokens(textOf(await call("search_tools", { query: "github issue create" }))),
  details: async () =>
    tokens(textOf(await call("get_tool_details", { server: "github", tool: "create_issue" }))),
  execution: async () =>
    tokens(toRun("github", "create_issue", issue)) +
    tokens(await call("execute_tool", toRun("github", "create_issue", issue))),
};
row("448", "The five tools take at most 500 tokens.", async () =>
  expect(await spent.initial()).toBeLessThanOrEqual(500),
);
row("449", "A search takes at most 200 tokens.", async () =>
  expect(await spent.search()).toBeLessThanOrEqual(200),
);
row("450", "The details of a tool take about 100 tokens.", async () =>
  expect(await spent.details()).toBeLessThanOrEqual(150),
);
row("451", "An execution takes at most 150 tokens.", async () =>
  expect(await spent.execution()).toBeLessThanOrEqual(150),
);
row("452", "The whole takes at most 950 tokens, below 1 % of 100,000.", async () => {
  const all = [await spent.initial(), await spent.search(), await spent.details(), await spent.execution()];
  expect(all.reduce((sum, each) => sum + each, 0)).toBeLessThanOrEqual(950);
});

const onePackage = "It is one package: toolpipe has the engine, the server, the config and the types.";
for (const [line, what, path] of [
  ["460", "the engine", "toolpipe/presets/anygpt"],
  ["461", "the MCP server", "toolpipe/plugins/serve"],
  ["462", "loading of configs", "toolpipe"],
  ["463", "the types", "toolpipe/services"],
] as const)
  differs(line, `A package of its own has ${what}.`, onePackage, async () => {
    const { exports } = JSON.parse(readFileSync("package.json", "utf8"));
    const entry = exports[path.replace(/^toolpipe/, ".")];
    expect(entry).toMatchObject({ default: expect.any(String) });
    const { exports: sources } = JSON.parse(readFileSync("deno.json", "utf8"));
    const file = sources[path.replace(/^toolpipe/, ".")] as string;
    const module = await import(new URL(`../../${file}`, import.meta.url).href);
    expect(Object.keys(module).length).toBeGreaterThan(0);
  });
differs("469", "The MCP SDK is a dependency, in version 0.5.", ownServer, () => {
  const { dependencies } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(dependencies["@modelcontextprotocol/client"]).toMatch(/^\^2\./);
});

const asResult =
  "Clients show a model the result of a tool and hide JSON-RPC errors, so errors of tools and meta-tools are results marked as errors that carry the code; malformed requests are JSON-RPC errors.";
row("494", "A message that is no JSON is answered with -32700.", async () => {
  server.write("{not json");
  expect(await server.answer(null)).toMatchObject({ id: null, error: { code: -32700 } });
});
row("495", "A message that is no request is answered with -32600.", async () => {
  server.write('{"jsonrpc":"2.0"}');
  expect(await server.answer(null)).toMatchObject({ id: null, error: { code: -32600 } });
  server.write('{"jsonrpc":"2.0","id":"wrong","method":5}');
  expect(await server.answer("wrong")).toMatchObject({ error: { code: -32600 } });
});
row("496", "An unknown method is answered with -32601.", async () => {
  expect(await server.request("tools/none")).toMatchObject({ error: { code: -32601 } });
});
row("497", "Parameters of the wrong kind are answered with -32602.", async () => {
  const wrong = { name: "search_tools", arguments: { query: 5 } };
  expect(await server.request("tools/call", wrong)).toMatchObject({ error: { code: -32602 } });
  expect(await server.request("tools/call", { name: 5 })).toMatchObject({ error: { code: -32602 } });
});
differs("498", "A fault of the server is the JSON-RPC error -32603.", asResult, async () => {
  const failed = await call("execute_tool", toRun("dead", "anything"));
  expect(numberOf(failed)).toBe(-32603);
});

row(
  "502",
  "A config that cannot be used is printed, and the exit code is not 0.",
  async () => {
    const cwd = await temporaryFolder({
      "anygpt.config.ts": "export default { discovery: { toolRules: 5 } };",
    });
    const { code, stderr } = await runCli(["serve", "--config", "anygpt.config.ts"], { cwd });
    expect(code).toBe(2);
    expect(stderr).toContain("toolRules");
  },
  60_000,
);
differs("503", "An unknown tool is the JSON-RPC error -32601.", asResult, async () => {
  const failed = await call("execute_tool", toRun("github", "nothing"));
  expect(numberOf(failed)).toBe(-32601);
  expect(textOf(failed)).toContain("TOOL_NOT_FOUND");
});
differs("504", "Wrong arguments of a tool are the JSON-RPC error -32602.", asResult, async () => {
  const failed = await call("execute_tool", toRun("github", "create_issue", { repo: 5 }));
  expect(numberOf(failed)).toBe(-32602);
  expect(textOf(failed)).toContain("title");
});
differs("505", "A failing execution is the JSON-RPC error -32603 with details.", asResult, async () => {
  const failed = await call("execute_tool", toRun("limited", "create_issue", issue));
  expect(failed["isError"]).toBe(true);
  expect(textOf(failed)).toContain("API rate limit exceeded");
});
// Phases: what is to be built, and when it is accepted.
prose(510, 512, 514, 522, 528, 530, 532, 541, 547, 549, 551, 560, 567, 569, 571, 578, 584, 586, 588, 595);
prose(601, 603, 605, 613, 619, 621, 623, 630, 636, 638, 640, 652, 658, 679, 689, 697, "705-713");

row("523", "The server starts.", () => expect(isAlive(server.pid)).toBe(true));
row("524", "The handshake works.", () => expect(greeting).toHaveProperty("result.serverInfo"));
row("525", "Messages go over stdio.", async () =>
  expect(await server.request("ping")).toMatchObject({ result: {} }),
);
row("526", "Errors are answered, and the server goes on.", async () => {
  expect(await server.request("tools/none")).toHaveProperty("error.code", -32601);
  expect(await server.request("ping")).toMatchObject({ result: {} });
});
row("515, 517-520", "Handshake over stdio and handling of errors are there and tested.", async () => {
  expect(greeting).toHaveProperty("result.protocolVersion", hello.protocolVersion);
  expect(await call("list_tools", { server: "nowhere" })).toMatchObject({ isError: true });
  expect(existsSync("test/together/serve/stdio.test.ts")).toBe(true);
});
row(
  "533-539",
  "Each of the four discovery tools is registered, works with the engine, and is tested.",
  async () => {
    for (const name of five.slice(0, 4)) await definitionOf(name);
    const engine = await createDiscoveryEngine({ servers: toEntries(["github"]) });
    try {
      const listed = (await engine.listTools("github")).map(({ name }) => name);
      expect(listed).toContain("create_issue");
    } finally {
      await engine.close();
    }
    expect(existsSync("test/presets/anygpt/anygpt.test.ts")).toBe(true);
  },
);
row("542", "The four discovery tools are listed.", async () => {
  const { tools } = (await server.request("tools/list"))["result"] as { tools: JsonObject[] };
  expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(five.slice(0, 4)));
});
row("543", "Each answers in its format.", async () => {
  expect(Object.keys(await answer("list_mcp_servers"))).toContain("servers");
  expect(Object.keys(await answer("search_tools", { query: "issue" }))).toContain("results");
  expect(Object.keys(await answer("list_tools", { server: "github" }))).toEqual(
    expect.arrayContaining(["server", "tools"]),
  );
  expect(Object.keys(await answer("get_tool_details", { server: "github", tool: "list_repos" }))).toEqual(
    expect.arrayContaining(["server", "tool", "description", "parameters"]),
  );
});
row("544", "They answer what the engine answers.", async () => {
  const engine = await createDiscoveryEngine({ servers: toEntries(["github"]) });
  try {
    const own = (await engine.listTools("github")).map(({ name }) => name);
    const { tools } = (await answer("list_tools", { server: "github", includeDisabled: true })) as {
      tools: JsonObject[];
    };
    expect(tools.map(({ name }) => name)).toEqual(own);
  } finally {
    await engine.close();
  }
});
row("545", "Each says what was wrong with a call.", async () => {
  expect(await server.request("tools/call", { name: "search_tools", arguments: {} })).toMatchObject({
    error: { code: -32602, message: expect.stringContaining("query") },
  });
  for (const [name, args] of [
    ["list_tools", { server: "nowhere" }],
    ["get_tool_details", { server: "github", tool: "nothing" }],
  ] as const)
    expect(textOf(await call(name, args))).toMatch(/nowhere|nothing/);
});
row(
  "552-558",
  "execute_tool connects, returns results and errors, and runs enabled tools only.",
  async () => {
    expect(await call("execute_tool", toRun("faulty", "echo", { text: "hi" }))).toMatchObject({
      content: [{ type: "text", text: "hi" }],
    });
    expect(await call("execute_tool", toRun("faulty", "fail"))).toMatchObject({ isError: true });
    expect(await call("execute_tool", toRun("github", "delete_repo"))).toMatchObject({ isError: true });
    expect(existsSync("test/presets/anygpt/execute.test.ts")).toBe(true);
  },
);
row("561", "execute_tool passes a call to the server, with its arguments.", async () => {
  const said = "words as they are: äöü";
  expect(textOf(await call("execute_tool", toRun("faulty", "echo", { text: said })))).toBe(said);
});
row("562", "Results come back to the agent.", async () => {
  expect(await call("execute_tool", toRun("github", "list_repos"))).toMatchObject({
    structuredContent: { repos: ["a", "b"] },
  });
});
row("563", "A JSON-RPC error of the server comes back with its own message.", async () => {
  const failed = await call("execute_tool", toRun("faulty", "error", { message: "Nothing on the shelf." }));
  expect(failed["isError"]).toBe(true);
  expect(textOf(failed)).toContain("Nothing on the shelf.");
});
row("564", "A disabled tool is refused before its server is called.", async () => {
  const failed = await call("execute_tool", toRun("github", "delete_repo"));
  expect(textOf(failed)).toMatch(/TOOL_DISABLED|disabled/);
});
row("565", "Progress of a server reaches the agent.", async () => {
  const engine = await createDiscoveryEngine({ servers: toEntries(["faulty"]) });
  const seen: unknown[] = [];
  for await (const event of engine.executeStream("faulty", "steps", {}))
    seen.push(event.type === "progress" ? event.message : event.type);
  await engine.close();
  expect(seen).toEqual(["step 1", "step 2", "step 3", "result"]);
});
row("358, 573, 579", "The config is loaded from anygpt.config.ts.", async () => {
  const { servers: rows } = (await answer("list_mcp_servers")) as { servers: JsonObject[] };
  expect(rows.map(({ name }) => name)).toEqual(["github", "limited", "faulty", "dead"]);
});
row("359, 574, 580", "Without a config everything has a default that works.", async () => {
  const engine = await createDiscoveryEngine({});
  expect(await engine.listServers()).toEqual([]);
  expect(engine.getConfig()).toMatchObject({ enabled: true, sources: [], toolRules: [] });
  await engine.close();
});
row("360, 575-576, 581", "A reload takes up a changed config.", async () => {
  let names: ("github" | "limited")[] = ["github"];
  const engine = await createDiscoveryEngine(() => ({ servers: toEntries(names) }));
  const listed = async (): Promise<string[]> => (await engine.listServers()).map(({ name }) => name);
  expect(await listed()).toEqual(["github"]);
  names = ["github", "limited"];
  await engine.reload();
  expect(await listed()).toEqual(["github", "limited"]);
  await engine.close();
});
row("582", "A config that is wrong is refused, and the message names what is wrong.", async () => {
  const wrong = { servers: [], toolRules: [{ pattern: ["/(/"] }] };
  await expect(createDiscoveryEngine(wrong)).rejects.toThrow(/"\/\(\/" of rule 1/);
});
row("606, 614", "CI demands tests of 90 % of all lines.", () => {
  expect(config.test?.coverage).toMatchObject({ thresholds: { lines: 90 } });
});
row("607-611, 615", "All rows of all specifications are tests, and a page lists them.", () => {
  const page = readFileSync("docs/specifications.md", "utf8");
  const counts = [...page.matchAll(/^## 00\d.*\n\n(\d+) rows/gm)].map(([, count]) => Number(count));
  expect(counts).toHaveLength(5);
  for (const count of counts) expect(count).toBeGreaterThan(100);
  for (const id of ["000", "001", "002", "003", "004"])
    expect(readFileSync(`test/specs/${id}.test.ts`, "utf8")).toMatch(/\bdone\(\);/);
});
row("616", "The official conformance suite is run, and its result is kept.", () => {
  const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(scripts.conformance).toContain("conformance/run");
  expect(existsSync("test/conformance/conformance.test.ts")).toBe(true);
});
row("617", "The documentation names every option, every error and every command.", async () => {
  const readme = readFileSync("README.md", "utf8");
  const { stdout: help } = await runCli(["--help"], { cwd: folder });
  const commands = /USAGE toolpipe (\S+)/.exec(help)?.[1]?.split("|") ?? [];
  expect(commands.length).toBeGreaterThan(20);
  expect(commands.filter((command) => !readme.includes(`toolpipe ${command}`))).toEqual([]);
  const errors = readFileSync("docs/errors.md", "utf8");
  expect(Object.keys(errorKinds).filter((code) => !errors.includes(`| \`${code}\` |`))).toEqual([]);
  const told = await runCli(["config", "options", "--json", "--config", "anygpt.config.ts"], { cwd: folder });
  const { plugins } = JSON.parse(told.stdout) as { plugins: { options: { name: string }[] }[] };
  const options = plugins.flatMap((plugin) => plugin.options);
  const page = readFileSync("docs/options.md", "utf8");
  expect(options.length).toBeGreaterThan(20);
  expect(options.filter(({ name }) => !page.includes(`| \`${name}\` |`))).toEqual([]);
});

row("624-627", "The package has a manifest, two programs that can be executed, and a README.", () => {
  const { name, version, bin } = JSON.parse(readFileSync("package.json", "utf8"));
  expect({ name, version }).toEqual({ name: "toolpipe", version: expect.stringMatching(/^\d+\.\d+\.\d+/) });
  expect(Object.keys(bin)).toEqual(["toolpipe", "anygpt"]);
  for (const file of Object.values(bin) as string[])
    if (!("Deno" in globalThis)) expect(readFileSync(file, "utf8")).toMatch(/^#!\/usr\/bin\/env node/);
});

/** The package as npm packs it, in a project that has installed it. */
async function installPacked(): Promise<string> {
  const project = await temporaryFolder();
  const { stdout } = await execute("npm", ["pack", "--ignore-scripts", "--pack-destination", project]);
  const home = join(project, "node_modules", "toolpipe");
  await mkdir(home, { recursive: true });
  await execute("tar", [
    "-xzf",
    join(project, stdout.trim().split("\n").at(-1) ?? ""),
    "-C",
    home,
    "--strip=1",
  ]);
  await symlink(resolve("node_modules"), join(home, "node_modules"));
  return home;
}
row("628", "The package can be packed for publication, and has its programs in it.", async () => {
  const { stdout } = await execute("npm", ["pack", "--ignore-scripts", "--dry-run", "--json"]);
  const [{ files }] = JSON.parse(stdout) as [{ files: { path: string }[] }];
  const paths = files.map(({ path }) => path);
  expect(paths).toEqual(expect.arrayContaining(["package.json", "README.md", "LICENSE"]));
  if (!("Deno" in globalThis)) expect(paths).toContain("dist/plugins/cli/toolpipe.js");
});
row(
  "631, 633",
  "Installed from what npm packs, it serves the five tools with no config at all.",
  async ({ skip }) => {
    if ("Deno" in globalThis) skip("Deno runs the sources");
    const home = await installPacked();
    const client = new Client({ name: "v1", version: "1" });
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [join(home, "dist/plugins/cli/toolpipe.js")],
        env: { PATH: process.env["PATH"] ?? "", HOME: home, TOOLPIPE_HOME: join(home, "state") },
        cwd: home,
        stderr: "ignore",
      }),
    );
    const { tools } = await client.listTools();
    await client.close();
    expect(tools.map(({ name }) => name)).toEqual(five);
  },
  60_000,
);
const ownName =
  "The package is toolpipe: npx -y toolpipe does what the line asks of npx -y @anygpt/discovery.";
differs("632, 641-650", "A client starts it with npx and the name @anygpt/discovery.", ownName, async () => {
  expect(readFileSync("README.md", "utf8")).toContain('"command": "npx", "args": ["-y", "toolpipe"]');
  const { name, bin } = JSON.parse(readFileSync("package.json", "utf8"));
  expect(bin[name]).toMatch(/toolpipe\.js$/);
});
row("634", "The README says how a client is connected.", () => {
  expect(readFileSync("README.md", "utf8")).toMatch(/"mcpServers": \{ "toolpipe"/);
});

row("653", "Without rules all tools are enabled.", async () => {
  const engine = await createDiscoveryEngine({ servers: toEntries(["github"]) });
  expect(await engine.listServers()).toMatchObject([{ toolCount: 4, enabledCount: 4 }]);
  await engine.close();
});
row("654", "The server of a client's entry runs on stdio.", () => {
  expect(greeting).toMatchObject({ jsonrpc: "2.0", result: { capabilities: { tools: {} } } });
});
row("655", "It exposes five meta-tools.", async () => {
  expect((await server.request("tools/list"))["result"]).toMatchObject({ tools: { length: 5 } });
});
row("656", "The very first search already finds tools.", async () => {
  const engine = await createDiscoveryEngine(
    { servers: toEntries(["github"]) },
    { options: { cache: { enabled: false } } },
  );
  expect((await engine.searchTools("create issue"))[0]).toMatchObject({ tool: "create_issue" });
  await engine.close();
});
row(
  "659-677",
  "The config of the example enables and tags tools with github in their name, and no other.",
  async () => {
    const github = toldServer([{ name: "github_create_issue" }, { name: "read_file" }]);
    const { command, args } = github;
    const engine = await createDiscoveryEngine({
      enabled: true,
      cache: { enabled: true, ttl: 3600 },
      servers: [{ name: "all", connection: { type: "stdio", command, args } }],
      toolRules: [{ pattern: ["*github*"], enabled: true, tags: ["github"] }],
    });
    expect(await engine.listTools("all", true)).toMatchObject([
      { name: "github_create_issue", enabled: true, tags: ["github"] },
      { name: "read_file", enabled: false, tags: [] },
    ]);
    await engine.close();
  },
);

prose(681);
row("683", "The five tools take less than 600 tokens.", async () =>
  expect(await spent.initial()).toBeLessThan(600),
);
row("684", "A call of a meta-tool takes less than 50 ms.", async () =>
  expect(await median(15, () => answer("list_mcp_servers"))).toBeLessThan(50),
);
row("685", "A search takes less than 150 ms.", async () =>
  expect(await median(15, () => answer("search_tools", { query: "create an issue" }))).toBeLessThan(150),
);
row("686", "An execution takes less than 500 ms.", async () =>
  expect(await median(15, () => call("execute_tool", toRun("github", "list_repos")))).toBeLessThan(500),
);
row(
  "687",
  "A server that has worked and is at rest takes less than 50 MB beyond its runtime.",
  async ({ skip }) => {
    if (process.platform !== "linux" || "Deno" in globalThis)
      skip("memory is read as Linux tells it of Node");
    const bare = spawn(process.execPath, ["-i"], { stdio: "pipe" });
    onTestFinished(() => void bare.kill("SIGKILL"));
    await once(bare.stdout, "data");
    const own = await serveForAll(["--config", "anygpt.config.ts"], folder);
    await own.request("initialize", hello);
    const target = { name: "execute_tool", arguments: toRun("github", "list_repos") };
    expect(await own.request("tools/call", target)).toHaveProperty("result.structuredContent");
    const resident = (pid: number): number =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;
    // At rest it gives back what it does not need.
    await until(() => resident(own.pid) - resident(Number(bare.pid)) < 50, 40_000);
  },
  60_000,
);

row("691", "A disabled tool is never executed.", async () => {
  expect(textOf(await call("execute_tool", toRun("github", "delete_repo")))).toMatch(/disabled/);
});
row("692", "Arguments are checked against the schema of the tool.", async () => {
  expect(textOf(await call("execute_tool", toRun("github", "create_issue", { repo: "a/b" })))).toContain(
    "title",
  );
});
row("693", "Every execution is in the audit.", async () => {
  const sink = memorySink();
  const engine = await createDiscoveryEngine(
    { servers: toEntries(["github"]) },
    { options: { audit: { sink } } },
  );
  await engine.executeTool("github", "list_repos", {});
  await engine.close();
  expect(sink.records).toContainEqual(
    expect.objectContaining({ tool_id: "github:list_repos", outcome: "ok" }),
  );
});
row(
  "694",
  "Errors hold no environment, no arguments of a command, and no data that a server added.",
  async () => {
    const failed = await call("execute_tool", toRun("faulty", "error", { message: "No." }));
    expect(JSON.stringify(failed)).not.toContain("canary");
  },
);
row("695", "What is too large, too deep or too much at once is refused.", async () => {
  const deep = JSON.parse(`${"[".repeat(200)}${"]".repeat(200)}`);
  const target = { name: "execute_tool", arguments: toRun("faulty", "echo", { text: deep }) };
  expect(await server.request("tools/call", target)).toMatchObject({
    error: { code: -32600, message: expect.stringContaining("nested") },
  });
  const gateway = await openGateway({
    preset: anygpt,
    options: { overload: { local: true, maxConcurrent: 1, maxWaiting: 0 } },
    plugins: [
      localTools("slow", { id: "slow" }, [
        {
          name: "wait",
          inputSchema: {},
          run: () => new Promise((done) => setTimeout(done, 50, textResult(""))),
        },
      ]),
    ],
  });
  const calls = await Promise.all([1, 2, 3].map(() => gateway.run({ tool: "slow:wait" })));
  expect(calls.map(({ error }) => error?.code)).toContain("OVERLOADED");
});

row("699", "Connections belong to the engine: two calls share one process.", async () => {
  const pids = [
    await call("execute_tool", toRun("faulty", "process")),
    await call("execute_tool", toRun("faulty", "process")),
  ];
  expect(textOf(pids[0] as JsonObject)).toBe(textOf(pids[1] as JsonObject));
});
row("700", "Calls run at the same time: one that hangs holds up no other.", async () => {
  server.write(
    JSON.stringify({
      jsonrpc: "2.0",
      id: "hangs",
      method: "tools/call",
      params: { name: "execute_tool", arguments: toRun("faulty", "wait") },
    }),
  );
  expect(textOf(await call("execute_tool", toRun("faulty", "echo", { text: "at once" })))).toBe("at once");
  server.write('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"hangs"}}');
});
row("702", "A tool has 30 seconds, and the config can say otherwise.", async () => {
  const { defaults } = await readTimeoutDefaults();
  expect(defaults).toBe("30000");
  const engine = await createDiscoveryEngine(
    { servers: toEntries(["faulty"]) },
    { options: { timeout: { ms: 100 } } },
  );
  expect(await engine.executeTool("faulty", "wait", {})).toMatchObject({
    success: false,
    error: { code: "TOOL_EXECUTION_TIMEOUT" },
  });
  await engine.close();
});
row("703", "Tools come first: the five are served, and no prompts or resources of servers.", async () => {
  expect(await server.request("prompts/list")).toHaveProperty("error.code", -32601);
  expect(await server.request("resources/list")).toHaveProperty("result.resources", []);
  expect(await server.request("tools/list")).toMatchObject({ result: { tools: { length: 5 } } });
});

/** The default of the time limit, as the documentation has it. */
async function readTimeoutDefaults(): Promise<{ defaults: string | undefined }> {
  const page = readFileSync("docs/options.md", "utf8");
  const [, section = ""] = page.split(/^## timeout$/m);
  return { defaults: /\| `ms` \| `number` \| `(\d+)`/.exec(section)?.[1] };
}

partRows(spec);

done();
