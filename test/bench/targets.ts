import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { countTokens } from "gpt-tokenizer";
import { node } from "./_node.ts";
import { type ProcessClient, processClient } from "./_relay/process-client.ts";
import { fromRoot } from "./_root.ts";
import { prepareCatalog } from "./catalog.ts";
import { discoveries, longList, rememberedServers, unknownServers } from "./scale-targets.ts";

const cli: string = fromRoot("dist/plugins/cli/toolpipe.js");
const upstream: string = fileURLToPath(new URL("./_relay/upstream.js", import.meta.url));
const ROUNDS = 9;
/** A gateway gives back what it does not need when it was at rest for half of this. */
const REST_MS = 11_000;

/** A target with what was measured. */
export interface Row {
  readonly what: string;
  /** Lines of the specifications that set the target, if it is not the project's own. */
  readonly spec?: string;
  readonly value: number;
  readonly unit: string;
  /** The upper limit that the specifications or the project set. */
  readonly aim: number;
  /** No less than that, instead. */
  readonly isLeast?: boolean;
}

/** Every latency and memory target there is, measured on real processes through the protocol. Needs Linux. */
export async function targets(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  const env = { ...process.env, TOOLPIPE_HOME: home };
  try {
    const empty = await prepareCatalog(home, "empty", 0, 0);
    const small = await prepareCatalog(home, "small", 100, 0);
    const middle = await prepareCatalog(home, "middle", 500, 0);
    const large = await prepareCatalog(home, "large", 1_000, 0);
    const rows = [
      await firstContext(small, env),
      ...(await answerTokens(small, env)),
      await lazyTools(home, env),
      ...(await answers(small, env, "1,000 tools")),
      ...(await answers(large, env, "10,000 tools")),
      await indexSize(home),
      await keywordSearch(home, env, 100),
      await keywordSearch(home, env, 1_000),
      ...(await memory({ "no tools": empty, "1,000 tools": small, "10,000 tools": large }, env)),
      ...(await starts(small, env)),
      ...(await executions(home)),
      await reload(small, env),
      ...(await commands(middle, env)),
      await longList(home, env),
      await rememberedServers(large, env),
      await unknownServers(home),
      ...(await discoveries()),
    ];
    process.stdout.write("| | specification | target | figure | holds |\n|---|---|--:|--:|---|\n");
    for (const { what, spec = "", value, unit, aim, isLeast } of rows) {
      const holds = (isLeast ? value >= aim : value <= aim) ? "yes" : "**no**";
      const target = `${isLeast ? "≥ " : "≤ "}${aim} ${unit}`;
      const figure = `${value.toFixed(value < 10 ? 2 : 0)} ${unit}`;
      process.stdout.write(`| ${what} | ${spec} | ${target} | ${figure} | ${holds} |\n`);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

/** Starts a gateway on a config, as a client does. */
export async function open(file: string, env: NodeJS.ProcessEnv): Promise<ProcessClient> {
  const client = processClient(node, [cli, "serve", "--config", file], env);
  await client.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  return client;
}

/** Calls a tool of a gateway. */
export function ask(client: ProcessClient, name: string, args: object): Promise<unknown> {
  return client.request("tools/call", { name, arguments: args });
}

/** Latencies for an agent; the 95th percentile counts, once the code is warm. */
async function answers(file: string, env: NodeJS.ProcessEnv, size: string): Promise<Row[]> {
  const client = await open(file, env);
  const questions = [
    ["list_mcp_servers", {}, 50, "001:1322, 003:684"],
    ["list_tools", { server: "server-7" }, 50, "003:684"],
    ["get_tool_details", { server: "server-7", tool: "list_pages" }, 50, "000:681, 001:1324"],
    [
      "search_tools",
      { query: "list open issues of a repository" },
      100,
      "000:680, 001:163, 001:1323, 003:685",
    ],
  ] as const;
  const rows: Row[] = [];
  for (const [name, args, aim, spec] of questions) {
    const took: number[] = [];
    for (let round = 0; round < 60; round++) {
      const began = performance.now();
      await ask(client, name, args);
      if (round >= 20) took.push(performance.now() - began);
    }
    took.sort((a, b) => a - b);
    const value = took[Math.floor(took.length * 0.95)] ?? Number.NaN;
    rows.push({ what: `\`${name}\`, p95, ${size}`, spec, value, unit: "ms", aim });
  }
  rows.push({
    what: `\`search_tools\`, CPU, ${size}`,
    value: await searchCpu(client),
    unit: "ms",
    aim: size === "1,000 tools" ? 5 : 20,
  });
  await client.end();
  return rows;
}

/** CPU milliseconds of a search, once the code is warm. */
async function searchCpu(client: ProcessClient): Promise<number> {
  const searches = 300;
  const search = (round: number) => ask(client, "search_tools", { query: `close invoice ${round}` });
  for (let round = 0; round < 50; round++) await search(round);
  const before = client.cpuMs();
  for (let round = 0; round < searches; round++) await search(round);
  return (client.cpuMs() - before) / searches;
}

/** Search by keywords alone. */
async function keywordSearch(home: string, env: NodeJS.ProcessEnv, servers: number): Promise<Row> {
  const options = { search: { ranker: "keyword" } };
  const client = await open(await prepareCatalog(home, `keyword-${servers}`, servers, 0, { options }), env);
  const value = await searchCpu(client);
  await client.end();
  const tools = (servers * 10).toLocaleString("en");
  return { what: `\`search_tools\` by keyword, CPU, ${tools} tools`, value, unit: "ms", aim: 1 };
}

/** Tokens that an agent pays before its first request. */
async function firstContext(file: string, env: NodeJS.ProcessEnv): Promise<Row> {
  const client = await open(file, env);
  const tools = JSON.stringify(await client.request("tools/list"));
  await client.end();
  return {
    what: "the five tools, as an agent gets them",
    spec: "000:679, 001:159, 003:683",
    value: countTokens(tools),
    unit: "tokens",
    aim: 600,
  };
}

/** Tokens of the answers that an agent gets most often. */
async function answerTokens(file: string, env: NodeJS.ProcessEnv): Promise<Row[]> {
  const client = await open(file, env);
  const count = async (name: string, args: object): Promise<number> => {
    const { content } = (await ask(client, name, args)) as { content: { text: string }[] };
    return countTokens(content.map(({ text }) => text).join(""));
  };
  const search = await count("search_tools", { query: "list open issues of a repository" });
  const details = await count("get_tool_details", { server: "server-7", tool: "list_pages" });
  await client.end();
  const unit = "tokens";
  return [
    { what: "an answer to `search_tools`", spec: "001:160, 001:1314", value: search, unit, aim: 200 },
    { what: "an answer to `get_tool_details`", spec: "001:161, 001:1315", value: details, unit, aim: 100 },
  ];
}

/** Tools that the preset `gateway` lists in front of 1,600. */
async function lazyTools(home: string, env: NodeJS.ProcessEnv): Promise<Row> {
  const client = await open(await prepareCatalog(home, "lazy", 160, 0, { preset: "gateway" }), env);
  const { tools } = (await client.request("tools/list")) as { tools: unknown[] };
  await client.end();
  return {
    what: "tools listed in lazy mode, of 1,600",
    spec: "002:727",
    value: tools.length,
    unit: "tools",
    aim: 5,
  };
}

/** Memory of the search index for 10,000 tools: keywords and embeddings. */
async function indexSize(home: string): Promise<Row> {
  const folder = join(home, "cache");
  const names = (await readdir(folder)).filter((name) => name.includes("search_"));
  const sizes = await Promise.all(names.map(async (name) => (await stat(join(folder, name))).size));
  const value = Math.max(...sizes) / 2 ** 20;
  return { what: "search index, 10,000 tools", spec: "001:1332", value, unit: "MB", aim: 100 };
}

/** Memory that is held when idle, above that of Node itself. */
async function memory(files: Readonly<Record<string, string>>, env: NodeJS.ProcessEnv): Promise<Row[]> {
  const bare = processClient(node, ["-e", "process.stdin.resume()"], env);
  const all = await Promise.all(
    Object.entries(files).map(async ([what, file]) => ({ what, client: await open(file, env) })),
  );
  for (let round = 0; round < 200; round++) {
    await Promise.all(
      all.map(({ client }) => ask(client, "search_tools", { query: `close invoice ${round}` })),
    );
  }
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  const rows = all.map(({ what, client }) => ({
    what: `memory above bare Node at rest, ${what}`,
    spec: what === "no tools" ? "003:687" : "000:684",
    value: client.memoryMb() - bare.memoryMb(),
    unit: "MB",
    aim: what === "no tools" ? 50 : 100,
  }));
  await Promise.all([bare, ...all.map(({ client }) => client)].map((client) => client.end()));
  return rows;
}

/** Calls of real processes of which nothing was known, and how seldom these are asked again what they have. */
async function executions(home: string): Promise<Row[]> {
  const folder = join(home, "executions");
  await mkdir(folder);
  const [file, tally] = [join(folder, "toolpipe.config.json"), join(folder, "tally")];
  await writeFile(tally, "");
  const names = Array.from({ length: 20 }, (_, index) => `s${index}`);
  const entry = (name: string): object => ({
    command: node,
    args: [upstream, name],
    env: { BENCH_TALLY: tally },
  });
  await writeFile(
    file,
    JSON.stringify({ mcpServers: Object.fromEntries(names.map((name) => [name, entry(name)])) }),
  );
  const took: number[] = [];
  let requests = 0;
  // Two starts: the second one knows what the first one has read.
  for (let start = 0; start < 2; start++) {
    const client = await open(file, { ...process.env, TOOLPIPE_HOME: folder });
    for (const server of names) {
      await ask(client, "list_tools", { server });
      await ask(client, "get_tool_details", { server, tool: `list_files_${server}` });
      requests += 2;
      for (let round = 0; round < 5; round++) {
        const given = { server, tool: `list_files_${server}`, arguments: { text: "any" } };
        const began = performance.now();
        await ask(client, "execute_tool", given);
        // The first one starts the server.
        if (round > 0) took.push(performance.now() - began);
        requests++;
      }
    }
    await client.end();
  }
  const asked = (await readFile(tally, "utf8")).split("\n").length - 1;
  took.sort((a, b) => a - b);
  return [
    {
      what: "`execute_tool` of a server that answers at once, p95",
      spec: "000:682, 001:162, 003:684, 003:686",
      value: took[Math.floor(took.length * 0.95)] ?? Number.NaN,
      unit: "ms",
      aim: 50,
    },
    {
      what: "requests about tools answered from the cache",
      spec: "000:683",
      value: 100 * (1 - asked / requests),
      unit: "%",
      aim: 80,
      isLeast: true,
    },
  ];
}

async function starts(file: string, env: NodeJS.ProcessEnv): Promise<Row[]> {
  const [listed, searched, cpu]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    const began = performance.now();
    const client = await open(file, env);
    await client.request("tools/list");
    listed.push(performance.now() - began);
    cpu.push(client.cpuMs());
    await ask(client, "search_tools", { query: "list open issues" });
    searched.push(performance.now() - began);
    await client.end();
  }
  return [
    { what: "from spawn to `tools/list`", value: median(listed), unit: "ms", aim: 200 },
    { what: "the same, CPU", value: median(cpu), unit: "ms", aim: 150 },
    {
      what: "from there to the first search",
      value: median(searched) - median(listed),
      unit: "ms",
      aim: 50,
    },
  ];
}

/** From the change of a config to the first answer that knows of it. */
async function reload(file: string, env: NodeJS.ProcessEnv): Promise<Row> {
  const client = await open(file, env);
  await ask(client, "list_mcp_servers", {});
  const config = JSON.parse(await readFile(file, "utf8")) as { mcpServers: Record<string, object> };
  config.mcpServers["added"] = { command: "true", args: [] };
  const began = performance.now();
  await writeFile(file, JSON.stringify(config));
  await promisify(execFile)(node, [cli, "config", "reload", "--all"], { env });
  const ms = performance.now() - began;
  await client.end();
  return { what: "reload, asked for by a command", spec: "001:1325", value: ms, unit: "ms", aim: 500 };
}

async function commands(file: string, env: NodeJS.ProcessEnv): Promise<Row[]> {
  const [bare, version, search]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await readCpu(["-e", "0"], env));
    version.push(await readCpu([cli, "--version"], env));
    search.push(await readCpu([cli, "search", "list open issues", "--config", file], env));
  }
  return [
    {
      what: "`toolpipe --version` ÷ `node -e 0`, CPU",
      value: median(version) / median(bare),
      unit: "×",
      aim: 1.5,
    },
    { what: "`toolpipe search`, 5,000 tools, CPU", value: median(search), unit: "ms", aim: 400 },
  ];
}

/** CPU milliseconds of a whole process. */
async function readCpu(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const { stderr } = await promisify(execFile)(
    "bash",
    ["-c", 'TIMEFORMAT="%U %S"; time "$0" "$@" >/dev/null 2>/dev/null', node, ...args],
    { env },
  );
  const [user = 0, system = 0] = stderr.trim().split(" ").map(Number);
  return (user + system) * 1_000;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
