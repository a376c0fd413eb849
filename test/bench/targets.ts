import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type ProcessClient, processClient } from "./_relay/process-client.ts";
import { fromRoot } from "./_root.ts";
import { prepareCatalog } from "./catalog.ts";

const node: string = process.env["BENCH_NODE"] ?? process.execPath;
const cli: string = fromRoot("dist/plugins/cli/toolpipe.js");
const ROUNDS = 9;

interface Row {
  readonly what: string;
  readonly value: number;
  readonly unit: string;
  /** What the specifications, or the project's own aims, want of it. */
  readonly aim: number;
}

/** Every latency and memory target there is, measured on real processes through the protocol. Needs Linux. */
export async function targets(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  const env = { ...process.env, TOOLPIPE_HOME: home };
  try {
    const rows: Row[] = [];
    const small = await prepareCatalog(home, "small", 100, 0);
    const middle = await prepareCatalog(home, "middle", 500, 0);
    const large = await prepareCatalog(home, "large", 1_000, 0);
    rows.push(...(await answers(small, env, "1,000 tools")));
    rows.push(...(await answers(large, env, "10,000 tools")));
    rows.push(...(await starts(small, env)));
    rows.push(await reload(small, env));
    rows.push(...(await commands(middle, env)));
    process.stdout.write("| | measured | aim | |\n|---|--:|--:|---|\n");
    for (const { what, value, unit, aim } of rows) {
      const met = value <= aim ? "met" : "**missed**";
      process.stdout.write(
        `| ${what} | ${value.toFixed(value < 10 ? 2 : 0)} ${unit} | ${aim} ${unit} | ${met} |\n`,
      );
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function open(file: string, env: NodeJS.ProcessEnv): Promise<ProcessClient> {
  const client = processClient(node, [cli, "serve", "--config", file], env);
  await client.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  return client;
}

function ask(client: ProcessClient, name: string, args: object): Promise<unknown> {
  return client.request("tools/call", { name, arguments: args });
}

/** What an agent waits for; the slowest twentieth counts, once the code is warm. */
async function answers(file: string, env: NodeJS.ProcessEnv, size: string): Promise<Row[]> {
  const client = await open(file, env);
  const questions = [
    ["list_mcp_servers", {}, 50],
    ["list_tools", { server: "server-7" }, 50],
    ["get_tool_details", { server: "server-7", tool: "list_pages" }, 50],
    ["search_tools", { query: "list open issues of a repository" }, 100],
  ] as const;
  const rows: Row[] = [];
  for (const [name, args, aim] of questions) {
    const took: number[] = [];
    for (let round = 0; round < 60; round++) {
      const began = performance.now();
      await ask(client, name, args);
      if (round >= 20) took.push(performance.now() - began);
    }
    took.sort((a, b) => a - b);
    const value = took[Math.floor(took.length * 0.95)] ?? Number.NaN;
    rows.push({ what: `\`${name}\`, p95, ${size}`, value, unit: "ms", aim });
  }
  const cpu = client.cpuMs();
  for (let round = 0; round < 100; round++)
    await ask(client, "search_tools", { query: `close invoice ${round}` });
  const each = (client.cpuMs() - cpu) / 100;
  rows.push({
    what: `\`search_tools\`, CPU, ${size}`,
    value: each,
    unit: "ms",
    aim: size === "1,000 tools" ? 5 : 20,
  });
  const bare = processClient(node, ["-e", "process.stdin.resume()"], env);
  await new Promise((resolve) => setTimeout(resolve, 500));
  const above = client.memoryMb() - bare.memoryMb();
  rows.push({ what: `memory above bare Node, ${size}`, value: above, unit: "MB", aim: 100 });
  await bare.end();
  await client.end();
  return rows;
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
  return { what: "reload, asked for by a command", value: ms, unit: "ms", aim: 500 };
}

async function commands(file: string, env: NodeJS.ProcessEnv): Promise<Row[]> {
  const [bare, version, search]: [number[], number[], number[]] = [[], [], []];
  for (let round = 0; round < ROUNDS; round++) {
    bare.push(await cpuOf(["-e", "0"], env));
    version.push(await cpuOf([cli, "--version"], env));
    search.push(await cpuOf([cli, "search", "list open issues", "--config", file], env));
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
async function cpuOf(args: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
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
