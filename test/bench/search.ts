import { existsSync, readFileSync } from "node:fs";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { create, insertMultiple, search as searchOrama } from "@orama/orama";
import MiniSearch from "minisearch";
import type { MaybePromise, Tool } from "../../core/mod.ts";
import { percentile } from "../../plugins/lib/evaluation.ts";
import { fieldTexts } from "../../plugins/search/keyword/fields.ts";
import { createRanker, type RankerName } from "../../plugins/search/mod.ts";
import { fromRoot } from "./_root.ts";
import { makeTools } from "./_search-tools.ts";

/** How many tools, and how many queries are asked over so many. */
const SIZES: readonly (readonly [tools: number, queries: number])[] = [
  [1_000, 100],
  [5_000, 100],
  [10_000, 100],
  [100_000, 25],
];
const LIMIT = 10;

/** A way to search. */
interface Subject {
  readonly name: string;
  /** Takes in the tools and returns the search. */
  index(tools: readonly Tool[]): MaybePromise<(query: string) => unknown>;
  /** Beyond so many tools it would take minutes. */
  readonly most?: number;
}

function ranker(name: RankerName): Subject {
  return {
    name,
    async index(tools) {
      const made = await createRanker(name);
      for (const [server, own] of byServer(tools)) made.update(server, own);
      return (query) => made.rank(query, { limit: LIMIT });
    },
  };
}

const subjects: readonly Subject[] = [
  ranker("keyword"),
  ranker("tag"),
  ranker("fusion"),
  {
    name: "MiniSearch",
    index(tools) {
      const made = new MiniSearch({
        fields: ["name", "server", "description", "parameters"],
        searchOptions: { boost: { name: 3, server: 1.5, parameters: 0.4 } },
      });
      made.addAll(tools.map(asDocument));
      return (query) => made.search(query).slice(0, LIMIT);
    },
  },
  {
    name: "Orama",
    async index(tools) {
      const made = create({
        schema: {
          id: "string",
          name: "string",
          server: "string",
          description: "string",
          parameters: "string",
        },
      });
      await insertMultiple(made, tools.map(asDocument), tools.length);
      const boost = { name: 3, server: 1.5, parameters: 0.4 };
      return (term) => searchOrama(made, { term, limit: LIMIT, boost });
    },
    most: 10_000,
  },
];

/** CPU a query, time to index and memory, beside two search libraries. */
export async function search(): Promise<void> {
  const queries = listQueries();
  process.stdout.write(
    "| tools | ranker | index CPU ms | MB | CPU ms a query: p50 | p95 |\n|--:|---|--:|--:|--:|--:|\n",
  );
  for (const [size, count] of SIZES) {
    const tools = makeTools(size);
    const open: (Indexed & { readonly name: string; readonly samples: number[] })[] = [];
    for (const subject of subjects) {
      if (size > (subject.most ?? size)) continue;
      open.push({ name: subject.name, ...(await indexed(subject, tools)), samples: [] });
    }
    const asked = queries.slice(0, count);
    for (const { ask } of open) for (const query of asked) await ask(query);
    // In turn, so that a machine that is busy with something else is so for all of them.
    for (const query of asked)
      for (const { ask, samples } of open) samples.push(await measureCpuMs(() => ask(query)));
    for (const { name, indexMs, megabytes, samples } of open) {
      const [p50 = 0, p95 = 0] = [0.5, 0.95].map((share) => percentile(samples, share));
      const cells = [indexMs.toFixed(0), megabytes.toFixed(0), p50.toFixed(2), p95.toFixed(2)];
      process.stdout.write(`| ${size.toLocaleString("en")} | ${name} | ${cells.join(" | ")} |\n`);
    }
  }
}

interface Indexed {
  readonly ask: (query: string) => unknown;
  readonly indexMs: number;
  readonly megabytes: number;
}

async function indexed(subject: Subject, tools: readonly Tool[]): Promise<Indexed> {
  const before = memoryInUse();
  const began = process.cpuUsage();
  const ask = await subject.index(tools);
  // Deferred indexing is part of the first query.
  await ask("first");
  const { user, system } = process.cpuUsage(began);
  return { ask, indexMs: (user + system) / 1000, megabytes: (memoryInUse() - before) / 1e6 };
}

/** CPU milliseconds of one query: of several in a row where it is short, since the clock is coarse. */
async function measureCpuMs(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  let times = 0;
  let micros = 0;
  while (times < 10 && micros < 2_000) {
    await work();
    times++;
    const { user, system } = process.cpuUsage(before);
    micros = user + system;
  }
  return micros / times / 1000;
}

function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function byServer(tools: readonly Tool[]): ReadonlyMap<string, readonly Tool[]> {
  const servers = new Map<string, Tool[]>(tools.map(({ server }) => [server, []]));
  for (const tool of tools) servers.get(tool.server)?.push(tool);
  return servers;
}

function asDocument(tool: Tool): Record<"id" | "name" | "server" | "description" | "parameters", string> {
  const [name = "", server = "", , summary = "", rest = "", parameters = ""] = fieldTexts(tool);
  return { id: tool.id, name, server, description: `${summary}${rest}`, parameters };
}

/** Returns recorded queries of agents and people, if the collection lies beside the project, and a few of our own. */
function listQueries(): string[] {
  const own = [
    "create an issue in a repository",
    "send an email to the team with the report attached",
    "list all open pull requests + their reviewers",
    "what is the weather in Paris tomorrow",
    "read a file",
    "I want to plan a trip to Japan next month; can you find flights, hotels and a few museums near them?",
    "convert a PDF to markdown",
    "query the database for users who signed up last week",
  ];
  const found = ["livemcp-agent", "livemcp-steps", "livemcp-tasks"].flatMap((set) => {
    const file = fromRoot("..", "shared", "data", "retrieval", set, "queries.jsonl");
    if (!existsSync(file)) return [];
    const lines = readFileSync(file, "utf8").split("\n").filter(Boolean);
    return lines.map((line) => (JSON.parse(line) as { query: string }).query);
  });
  // Of each kind some, however few are asked.
  return [
    ...own,
    ...found.filter((_, index) => index % 2 === 0),
    ...found.filter((_, index) => index % 2 === 1),
  ];
}
