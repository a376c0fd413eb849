import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { createGateway } from "../../core/mod.ts";
import { toServerKey } from "../../core/services/sources.ts";
import { cache } from "../../plugins/cache/mod.ts";
import { hashServer } from "../../plugins/lib/hash.ts";
import type { ServerConfig } from "../../plugins/sources/mod.ts";
import { createSnapshot } from "../../plugins/upstreams/snapshot.ts";
import { workspaceTools } from "./_workspace-tools.ts";

const ROUNDS = 7;
const child = fileURLToPath(new URL(`./_first-search${import.meta.url.slice(-3)}`, import.meta.url));

interface Sample {
  readonly ok: boolean;
  readonly ms: number;
  readonly cpuMs: number;
  readonly memoryMb: number;
  readonly tools: number;
}

/** From a cold start to the first answered search, with a thousand cached servers, and with dead ones among them. */
export async function catalog(): Promise<void> {
  const home = await mkdtemp(join(tmpdir(), "toolpipe-bench-"));
  try {
    const subjects = [
      { name: "no server", tools: 0, file: await prepareCatalog(home, "none", 0, 0) },
      { name: "1,000 servers × 10 tools", tools: 10_000, file: await prepareCatalog(home, "known", 1000, 0) },
      {
        name: "the same and 100 dead servers",
        tools: 10_000,
        file: await prepareCatalog(home, "dead", 1000, 100),
      },
    ];
    const samples = new Map<string, Sample[]>(subjects.map(({ name }) => [name, []]));
    for (let round = 0; round < ROUNDS; round++) {
      for (const { name, file, tools } of subjects) {
        samples.get(name)?.push(await firstSearch(home, file, tools));
      }
    }
    process.stdout.write(
      "| from spawn to the first answered search | ms | CPU ms | MB | tools |\n|---|--:|--:|--:|--:|\n",
    );
    for (const [name, taken] of samples) {
      const median = (key: "ms" | "cpuMs" | "memoryMb"): string =>
        (taken.map((sample) => sample[key]).toSorted((a, b) => a - b)[ROUNDS >> 1] ?? Number.NaN).toFixed(0);
      process.stdout.write(
        `| ${name} | ${median("ms")} | ${median("cpuMs")} | ${median("memoryMb")} | ${taken[0]?.tools} |\n`,
      );
    }
  } finally {
    await rm(home, { recursive: true });
  }
}

async function firstSearch(home: string, file: string, tools: number): Promise<Sample> {
  const env = { ...process.env, TOOLPIPE_HOME: home };
  const { stdout } = await promisify(execFile)(process.execPath, [child, file], { env });
  const sample = JSON.parse(stdout) as Sample;
  if (!sample.ok || sample.tools !== tools)
    throw new Error(`The search was not answered from ${tools} tools.`);
  return sample;
}

/** A config of so many servers that are in the snapshot, and so many that never answer and are not, with more in it. */
export async function prepareCatalog(
  home: string,
  name: string,
  known: number,
  dead: number,
  more: object = {},
): Promise<string> {
  const folder = join(home, name);
  await mkdir(folder);
  const file = join(folder, "toolpipe.config.json");
  const mcpServers: Record<string, { command: string; args: string[] }> = {};
  for (let index = 0; index < known; index++)
    mcpServers[`server-${index}`] = { command: "true", args: [String(index)] };
  for (let index = 0; index < dead; index++)
    mcpServers[`dead-${index}`] = { command: "sleep", args: [String(1000 + index)] };
  await writeFile(file, JSON.stringify({ mcpServers, ...more }));

  const keeper = await createGateway({ plugins: [cache({ folder: join(home, "cache") })] });
  if (!keeper.services.cache) throw new Error("There is no cache.");
  const snapshot = createSnapshot(keeper.services.cache, file);
  for (let index = 0; index < known; index++) {
    const { command = "", args = [] } = mcpServers[`server-${index}`] ?? {};
    const config: ServerConfig = {
      name: `server-${index}`,
      connection: { type: "stdio", command, args, env: {} },
      origin: { source: "inline", file, scope: "config" },
    };
    snapshot.set(toServerKey(config), {
      hash: hashServer(config),
      savedAt: Date.now(),
      info: { name: config.name },
      listing: {
        tools: workspaceTools(index),
        rejected: [],
        resources: [],
        resourceTemplates: [],
        prompts: [],
      },
    });
  }
  await snapshot.flush();
  await keeper.close();
  return file;
}
