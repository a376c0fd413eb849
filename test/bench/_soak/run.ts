import { randomUUID } from "node:crypto";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { load, type ServerNames, type Tally } from "./load.ts";
import { listProcesses, type Running } from "./processes.ts";
import { describeGrowth, type Report } from "./report.ts";
import { httpSubject, type Subject, stdioSubject } from "./subject.ts";
import { type Bound, findTrends, type Sample } from "./verdict.ts";

/** How long, and by which dice. */
export interface RunOptions {
  /** An empty folder. */
  readonly home: string;
  readonly seconds: number;
  readonly seed: number;
}

const STEADY = ["north", "east", "south", "west"];
const SHAKY = ["spring", "summer", "autumn", "winter"];
const SERVERS: readonly string[] = [...STEADY, ...SHAKY];
const CALLERS = 6;
const LEAST_SAMPLES = 8;
const MOST_SAMPLES = 40;
const WRONG_SHOWN = 10;
const upstream = fileURLToPath(new URL(`./upstream${import.meta.url.slice(-3)}`, import.meta.url));

/** Caches and pools fill up; more than this by the end is not that. */
const bounds: readonly Bound[] = [
  { name: "heap, MB", allowed: 6, share: 0.1 },
  // On a busy machine, one of the answers that are too large may still be on its way: 10 MB of it are kept at most.
  { name: "buffers, MB", allowed: 12 },
  // The engine decides how much garbage it keeps, so only large growth counts.
  { name: "resident memory, MB", allowed: 60, share: 0.3 },
  { name: "descriptors of its own", allowed: 4 },
  { name: "child processes", allowed: SERVERS.length },
  { name: "dead children", allowed: 0.5 },
  { name: "files it keeps", allowed: 8 },
];

/** Runs the load on a gateway over HTTP and one over standard input and output, and looks at them in every pause. */
export async function run({ home, seconds, seed }: RunOptions): Promise<Report> {
  const word = `soak-${randomUUID()}`;
  const args = ["--config", await writeConfig(home, word)];
  const folder = join(home, "home");
  const env = { ...process.env, TOOLPIPE_HOME: folder };
  const subjects: Subject[] = [];
  const tally: Tally = { done: new Map(), wrong: [] };
  const samples = new Map<string, Sample[]>();
  const faults: string[] = [];
  const random = createRandom(seed);
  const servers: ServerNames = { steady: STEADY, shaky: SHAKY, kill: (server) => killServer(word, server) };
  const rounds = Math.min(MOST_SAMPLES, Math.max(LEAST_SAMPLES, Math.round(seconds / 2)));
  const began = performance.now();
  const elapsed = (): number => (performance.now() - began) / 1_000;
  const cpu = new Map<string, number>();
  try {
    subjects.push(await httpSubject(args, env), await stdioSubject(args, env));
    await Promise.all(subjects.map(untilListed));
    for (let round = 0; round < rounds; round++) {
      const until = performance.now() + (seconds * 1_000) / rounds;
      const proceed = (): boolean => performance.now() < until;
      await Promise.all(
        subjects.map((subject) => load(subject, servers, tally, { callers: CALLERS, random, proceed })),
      );
      const files = (await readdir(folder, { recursive: true })).length;
      for (const subject of subjects) {
        const values: Sample["values"] = { ...(await subject.count()), "files it keeps": files };
        if (Number(values["child processes"]) > SERVERS.length)
          faults.push(`${subject.name}: a server was started twice`);
        samples.set(subject.name, [...(samples.get(subject.name) ?? []), { at: elapsed(), values }]);
      }
      faults.push(...strays(word, subjects));
    }
    for (const { name, cpuSeconds } of subjects) cpu.set(name, cpuSeconds());
  } finally {
    faults.push(...(await endAll(subjects)));
  }
  for (const { name, pid } of await listLeftovers(word)) {
    faults.push(`${name} runs on after its gateway has ended`);
    end(pid);
  }
  const gateways = subjects.map(({ name }) => ({
    name,
    trends: findTrends(samples.get(name) ?? [], bounds),
    cpuMsACall: ((cpu.get(name) ?? Number.NaN) * 1_000) / countCalls(tally, name),
  }));
  return {
    seconds: elapsed(),
    done: Object.fromEntries(tally.done),
    gateways,
    faults: [
      ...gateways.flatMap(({ name, trends }) => describeGrowth(name, trends)),
      ...new Set(faults),
      ...tally.wrong.slice(0, WRONG_SHOWN),
    ],
  };
}

async function writeConfig(home: string, word: string): Promise<string> {
  const file = join(home, "toolpipe.config.json");
  const own = "Deno" in globalThis ? ["run", "-A", upstream] : [upstream];
  const createServer = (name: string): object => ({ command: process.execPath, args: [...own, word, name] });
  const config = {
    preset: "anygpt",
    mcpServers: Object.fromEntries(SERVERS.map((name) => [name, createServer(name)])),
    options: {
      timeout: { ms: 60_000, tools: createLimits({ never: 300, change: 1_000 }) },
      // Small enough to be full when the warm-up is over.
      results: { maxKeptBytes: 3_000_000 },
      upstreams: { idleMs: 1_500 },
      // A machine that is busy with something else is no reason to turn callers away here.
      overload: { maxLagMs: 600_000 },
    },
  };
  await writeFile(file, JSON.stringify(config));
  return file;
}

/** How long tools of the servers that everything happens to may take. */
function createLimits(tools: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(
    SHAKY.flatMap((server) => Object.entries(tools).map(([tool, ms]) => [`${server}:${tool}`, ms])),
  );
}

/** A gateway answers at once; its servers take a moment to be asked. */
async function untilListed(subject: Subject): Promise<void> {
  const until = performance.now() + 120_000;
  for (;;) {
    const { content } = (await subject.ask("tools/call", { name: "list_mcp_servers", arguments: {} })) as {
      content: { text: string }[];
    };
    const { servers } = JSON.parse(content[0]?.text ?? "{}") as { servers?: { toolCount?: number }[] };
    if (servers?.filter(({ toolCount = 0 }) => toolCount > 0).length === SERVERS.length) return;
    if (performance.now() > until) throw new Error(`The servers were not listed: ${content[0]?.text}`);
    await sleep(100);
  }
}

function killServer(word: string, server: string): void {
  for (const { pid, name } of listProcesses(word)) if (name === server) end(pid);
}

/** It may have ended by itself meanwhile. */
function end(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== "ESRCH") throw thrown;
  }
}

/** Servers whose gateway is not their parent any more. */
function strays(word: string, subjects: readonly Subject[]): string[] {
  const parents = new Set(subjects.map(({ pid }) => pid));
  return listProcesses(word)
    .filter(({ parent }) => !parents.has(parent))
    .map(({ name }) => `${name} runs on without the gateway that started it`);
}

async function endAll(subjects: readonly Subject[]): Promise<string[]> {
  const exits = await Promise.all(subjects.map(({ end }) => end().catch(() => null)));
  return subjects.flatMap(({ name }, index) =>
    exits[index] === 0 ? [] : [`${name}: the gateway ended with ${exits[index] ?? "a signal"}`],
  );
}

/** Returns processes that are left after the system had time to reap ended ones. */
async function listLeftovers(word: string): Promise<Running[]> {
  for (let tries = 0; tries < 20 && listProcesses(word).length > 0; tries++) await sleep(50);
  return listProcesses(word);
}

function countCalls({ done }: Tally, subject: string): number {
  return [...done].reduce((sum, [name, count]) => (name.startsWith(`${subject}, `) ? sum + count : sum), 0);
}

/** Returns a deterministic random generator. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
