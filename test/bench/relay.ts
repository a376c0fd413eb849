import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { node } from "./_node.ts";
import { type ProcessClient, processClient } from "./_relay/process-client.ts";
import { createTools } from "./_relay/tools.ts";
import { fromRoot } from "./_root.ts";

const SERVERS = 20;
const STARTS = 15;
const ROUNDS = 7;
/** Rounds that are not counted: in the first ones servers start, and V8 compiles what is used most. */
const WARM_UP = 3;
const CALLS = 400;
const CONCURRENT = 32;
/** A gateway gives back what it does not need when it was at rest for half of this. */
const REST_MS = 11_000;
const here = (file: string): string => fileURLToPath(new URL(file, import.meta.url));

/** Servers as people have them are made with the SDK; beside one without any library, all of a relay's own cost shows. */
const upstreams: Readonly<Record<string, string>> = {
  "a server on the SDK": here("./_relay/sdk-upstream.js"),
  "a server without any library": here("./_relay/upstream.js"),
};

interface Subject {
  readonly name: string;
  readonly args: readonly string[];
  /** Creates the parameters of one call. */
  call(tool: string, text: string): object;
}

interface Start {
  readonly ms: number;
  readonly cpuMs: number;
}

interface Calls {
  readonly p50: number;
  readonly p95: number;
  readonly cpuMs: number;
  readonly perSecond: number;
}

/** Measures relays between an agent and twenty servers: start, calls, and memory. Needs Linux. */
export async function relay(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  try {
    for (const [kind, upstream] of Object.entries(upstreams)) {
      const own = await mkdtemp(join(home, "upstream-"));
      const env = { ...process.env, TOOLPIPE_HOME: own };
      const subjects = await prepare(own, upstream);
      await warmUp(subjects, env);
      process.stdout.write(`Before ${kind}:\n\n`);
      printStarts(await starts(subjects, env));
      await printCalls(subjects, env);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function prepare(home: string, upstream: string): Promise<readonly Subject[]> {
  const names = Array.from({ length: SERVERS }, (_, index) => `s${index}`);
  const mcpServers = Object.fromEntries(
    names.map((name) => [name, { command: node, args: [upstream, name] }]),
  );
  const serversFile = join(home, "servers.json");
  await writeFile(serversFile, JSON.stringify({ servers: mcpServers, tools: names.flatMap(createTools) }));
  const config = async (preset: string): Promise<string> => {
    const file = join(home, `${preset}.json`);
    await writeFile(file, JSON.stringify({ preset, mcpServers }));
    return file;
  };
  const cli = fromRoot("dist/plugins/cli/toolpipe.js");
  const plain = (name: string, text: string): object => ({ name, arguments: { text } });
  return [
    { name: "direct", args: [upstream, "s0"], call: plain },
    { name: "raw relay, no SDK", args: [here("./_relay/raw-relay.js"), serversFile], call: plain },
    { name: "relay on the SDK", args: [here("./_relay/sdk-relay.js"), serversFile], call: plain },
    {
      name: "toolpipe, passthrough",
      args: [cli, "serve", "--config", await config("passthrough")],
      call: plain,
    },
    {
      name: "toolpipe, anygpt",
      args: [cli, "serve", "--config", await config("anygpt")],
      call: (tool, text) => ({
        name: "execute_tool",
        arguments: { server: tool.slice(tool.lastIndexOf("_") + 1), tool, arguments: { text } },
      }),
    },
  ];
}

/** A gateway that has been there before: it knows the tools, and Node has compiled it. */
async function warmUp(subjects: readonly Subject[], env: NodeJS.ProcessEnv): Promise<void> {
  for (const { args } of subjects) {
    if (!args.includes("serve")) continue;
    for (let time = 0; time < 2; time++) {
      const { client } = await open(args, env);
      const until = performance.now() + 60_000;
      while ((await toolCount(client)) < SERVERS * 50) {
        if (performance.now() > until) throw new Error("The servers' tools were not read within a minute.");
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      await client.end();
    }
  }
}

async function toolCount(client: ProcessClient): Promise<number> {
  const { tools } = (await client.request("tools/list")) as { tools: { name: string }[] };
  if (tools.length !== 5) return tools.length;
  const answer = (await client.request("tools/call", {
    name: "list_mcp_servers",
    arguments: {},
  })) as { content: { text: string }[] };
  const { servers } = JSON.parse(answer.content[0]?.text ?? "{}") as { servers: { tool_count?: number }[] };
  return servers.reduce((sum, server) => sum + Number(Object.values(server).find(Number.isInteger) ?? 0), 0);
}

async function open(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<{ client: ProcessClient; ms: number }> {
  const began = performance.now();
  const client = processClient(node, args, env);
  await client.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "bench", version: "1" },
  });
  await client.request("tools/list");
  return { client, ms: performance.now() - began };
}

async function starts(subjects: readonly Subject[], env: NodeJS.ProcessEnv): Promise<Map<string, Start[]>> {
  const samples = new Map<string, Start[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < STARTS; round++) {
    for (const { name, args } of subjects) {
      const { client, ms } = await open(args, env);
      samples.get(name)?.push({ ms, cpuMs: client.cpuMs() });
      await client.end();
    }
  }
  return samples;
}

function printStarts(samples: ReadonlyMap<string, readonly Start[]>): void {
  process.stdout.write("| from spawn to `tools/list` | ms | CPU ms |\n|---|--:|--:|\n");
  for (const [name, taken] of samples) {
    const ms = median(taken.map((sample) => sample.ms));
    process.stdout.write(
      `| ${name} | ${ms.toFixed(0)} | ${median(taken.map(({ cpuMs }) => cpuMs)).toFixed(0)} |\n`,
    );
  }
}

async function printCalls(subjects: readonly Subject[], env: NodeJS.ProcessEnv): Promise<void> {
  const open_ = await Promise.all(
    subjects.map(async (subject) => ({ subject, client: (await open(subject.args, env)).client })),
  );
  const samples = new Map<string, Calls[]>(subjects.map(({ name }) => [name, []]));
  for (let round = 0; round < WARM_UP + ROUNDS; round++) {
    for (const { subject, client } of open_) {
      const taken = await calls(subject, client);
      if (round >= WARM_UP) samples.get(subject.name)?.push(taken);
    }
  }
  const of = (name: string, key: keyof Calls): number =>
    median((samples.get(name) ?? []).map((taken) => taken[key]));
  // The system counts CPU time by the hundredth of a second, which is too much for the median of rounds.
  const readCpu = (name: string): number => mean((samples.get(name) ?? []).map(({ cpuMs }) => cpuMs));
  const after = new Map(open_.map(({ subject, client }) => [subject.name, client.memoryMb()]));
  await new Promise((resolve) => setTimeout(resolve, REST_MS));
  process.stdout.write(
    "\n| a call | p50 ms | × direct | p95 ms | CPU ms | calls/s at 32 | ÷ direct | MB after | at rest |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|\n",
  );
  for (const { subject, client } of open_) {
    const { name } = subject;
    const cells = [
      of(name, "p50").toFixed(3),
      (of(name, "p50") / of("direct", "p50")).toFixed(2),
      of(name, "p95").toFixed(3),
      readCpu(name).toFixed(3),
      of(name, "perSecond").toFixed(0),
      (of(name, "perSecond") / of("direct", "perSecond")).toFixed(2),
      (after.get(name) ?? Number.NaN).toFixed(0),
      client.memoryMb().toFixed(0),
    ];
    process.stdout.write(`| ${name} | ${cells.join(" | ")} |\n`);
    await client.end();
  }
  process.stdout.write("\n");
}

async function calls({ call }: Subject, client: ProcessClient): Promise<Calls> {
  const tool = "get_files_s0";
  const took: number[] = [];
  for (let index = 0; index < CALLS; index++) {
    const began = performance.now();
    await ask(`one ${index}`);
    took.push(performance.now() - began);
  }
  const before = client.cpuMs();
  const began = performance.now();
  let next = 0;
  const caller = async (): Promise<void> => {
    while (next < CALLS * 4) await ask(`many ${next++}`);
  };
  await Promise.all(Array.from({ length: CONCURRENT }, caller));
  const ms = performance.now() - began;
  took.sort((a, b) => a - b);
  return {
    p50: took[took.length >> 1] ?? Number.NaN,
    p95: took[Math.floor(took.length * 0.95)] ?? Number.NaN,
    cpuMs: (client.cpuMs() - before) / (CALLS * 4),
    perSecond: (CALLS * 4 * 1_000) / ms,
  };

  /** Every caller must get its own answer. */
  async function ask(text: string): Promise<void> {
    const { content } = (await client.request("tools/call", call(tool, text))) as {
      content: { text: string }[];
    };
    if (content[0]?.text !== text) throw new Error(`Asked for "${text}", answered "${content[0]?.text}".`);
  }
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
