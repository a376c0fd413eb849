import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { node } from "./_node.ts";
import { type ProcessClient, processClient } from "./_relay/process-client.ts";
import { fromRoot } from "./_root.ts";

const KILLS = 25;
const CALLERS = 32;
const SERVERS = ["s0", "s1"];
const upstream: string = fileURLToPath(new URL("./_relay/upstream.js", import.meta.url));

interface Sample {
  /** From the start of a server to its first answer, with nothing in between. */
  readonly startMs: number;
  /** From the end of a server to the first answer of the next call. */
  readonly againMs: number;
}

/** How long after the `kill -9` of a server its next call is answered, beside what the server needs to start. Needs Linux. */
export async function kill(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  try {
    process.stdout.write(
      "| after `kill -9`, p50 of 25 | the server's start, ms | the next call, ms | more, ms |\n|---|--:|--:|--:|\n",
    );
    for (const preset of ["passthrough", "anygpt"]) {
      for (const callers of [0, CALLERS - 1]) await printRow(home, preset, callers);
    }
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

async function printRow(home: string, preset: string, callers: number): Promise<void> {
  const samples = await killing(home, preset, callers);
  const of = (key: keyof Sample): number => median(samples.map((sample) => sample[key]));
  const more = median(samples.map(({ startMs, againMs }) => againMs - startMs));
  const cells = [of("startMs"), of("againMs"), more].map((ms) => ms.toFixed(0)).join(" | ");
  process.stdout.write(`| ${preset}, ${callers} other callers | ${cells} |\n`);
}

async function killing(home: string, preset: string, callers: number): Promise<readonly Sample[]> {
  const env = { ...process.env, TOOLPIPE_HOME: home };
  const file = join(home, `${preset}.json`);
  const mcpServers = Object.fromEntries(
    SERVERS.map((name) => [name, { command: node, args: [upstream, name] }]),
  );
  await writeFile(file, JSON.stringify({ preset, mcpServers }));
  const cli = fromRoot("dist/plugins/cli/toolpipe.js");
  const client = await begun(processClient(node, [cli, "serve", "--config", file], env));
  const call = async (server: string): Promise<boolean> => {
    const tool = `get_files_${server}`;
    const given = { text: "any" };
    const wrapped = { name: "execute_tool", arguments: { server, tool, arguments: given } };
    const plain = { name: tool, arguments: given };
    const answer = await client.request("tools/call", preset === "anygpt" ? wrapped : plain);
    return (answer as { isError?: boolean }).isError !== true;
  };
  for (const server of SERVERS) while (!(await call(server).catch(() => false))) await pause(100);

  let isOver = false;
  const others = Array.from({ length: callers }, async () => {
    while (!isOver) await call("s1");
  });
  const samples: Sample[] = [];
  while (samples.length < KILLS) {
    const startMs = await timed(async () => {
      const direct = await begun(processClient(node, [upstream, "s0"], env));
      await direct.request("tools/call", { name: "get_files_s0", arguments: {} });
      return () => direct.end();
    });
    process.kill(await findChild(client.pid, "s0"), "SIGKILL");
    // A call to a dying process is reported as unknown; the next call reaches the new process.
    const againMs = await timed(async () => {
      while (!(await call("s0")));
    });
    samples.push({ startMs, againMs });
  }
  isOver = true;
  await Promise.all(others);
  await client.end();
  return samples;
}

async function begun(client: ProcessClient): Promise<ProcessClient> {
  const clientInfo = { name: "bench", version: "1" };
  await client.request("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo });
  return client;
}

async function timed(work: () => Promise<(() => Promise<void>) | void>): Promise<number> {
  const began = performance.now();
  const after = await work();
  const ms = performance.now() - began;
  await after?.();
  return ms;
}

/** The process of a server that a gateway has started. */
async function findChild(gateway: number, server: string): Promise<number> {
  for (const pid of (await readdir("/proc")).filter((name) => /^\d+$/.test(name))) {
    const [stat, command] = await Promise.all(
      ["stat", "cmdline"].map((name) => readFile(`/proc/${pid}/${name}`, "utf8").catch(() => "")),
    );
    const parent = Number((stat ?? "").split(") ").at(-1)?.split(" ")[1]);
    if (parent === gateway && command?.endsWith(`\0${server}\0`)) return Number(pid);
  }
  throw new Error(`The server "${server}" is not running.`);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}
