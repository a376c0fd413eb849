import { writeFile } from "node:fs/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { GatewayError, nearest, type Tool } from "../../../core/mod.ts";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import type { Ranker } from "../../../core/services/search.ts";
import {
  type LabelledQuery,
  meanQuality,
  measureQuality,
  percentile,
  type Quality,
  readQueries,
  readTools,
  readUserFile,
} from "../../lib/evaluation.ts";
import { createProgressBar, output, usageError } from "../../lib/terminal/output.ts";
import { createRanker, rankerNames } from "../mod.ts";

/** Interval of progress output in milliseconds. */
const PROGRESS_MS = 200;

/** Measures rankers on labelled queries. */
export const evaluate: Command = defineCommand({
  args: {
    tools: { type: "string", description: "The tools, one JSON object a line", valueHint: "FILE" },
    queries: {
      type: "string",
      description: "The queries with the ids of the tools that fit, one JSON object a line",
      valueHint: "FILE",
    },
    ranker: {
      type: "string",
      description: `A ranker to measure, ${rankerNames[0]} by default; may be given again: ${rankerNames.join(", ")}, or the path of a module`,
      valueHint: "NAME",
    },
    limit: { type: "string", description: "Ask for so many tools", default: "10", valueHint: "N" },
    run: { type: "string", description: "Write down how every query was answered", valueHint: "FILE" },
    json: { type: "boolean", description: "Print JSON" },
  },
  async run(given, { typed }) {
    for (const name of ["tools", "queries"] as const)
      if (!given[name]) throw usageError(`The option --${name} needs a file.`);
    const limit = /^\d+$/.test(given.limit) ? Number(given.limit) : 0;
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw usageError("The option --limit needs a whole number, 1 or more.");
    if (given.run === "") throw usageError("The option --run needs a value.");
    const names = parseRankers(typed);
    const { tools: toolsFile = "", queries: queriesFile = "" } = given;
    const tools = readTools(await readUserFile(toolsFile), toolsFile);
    const queries = readQueries(await readUserFile(queriesFile), queriesFile, tools);

    const evaluations: Evaluation[] = [];
    const bar = createProgressBar();
    const lines: (RunLine & { readonly ranker?: string })[] = [];
    for (const name of names) {
      let printedAt = 0;
      const { evaluation, run } = await evaluateRanker(() => createRanker(name), tools, queries, {
        limit,
        onProgress(done) {
          if (Date.now() - printedAt < PROGRESS_MS) return;
          printedAt = Date.now();
          bar.show(done, queries.length, name);
        },
      }).finally(() => bar.clear());
      evaluations.push({ ...evaluation, ranker: name });
      // With more than one, a line would not tell whose it is.
      lines.push(...run.map((line) => (names.length > 1 ? { ranker: name, ...line } : line)));
    }
    if (given.run !== undefined) await writeRun(given.run, lines);
    output(given.json, { tools: tools.length, queries: queries.length, limit, rankers: evaluations }, () =>
      describe(tools.length, queries, evaluations),
    );
  },
});

/** Parses the rankers, each once and in the given order; the default ranker if none is given. */
function parseRankers(typed: readonly string[]): string[] {
  const named: string[] = [];
  typed.forEach((word, index) => {
    if (word === "--ranker") named.push(typed[index + 1] ?? "");
    else if (word.startsWith("--ranker=")) named.push(word.slice("--ranker=".length));
  });
  const names = [...new Set(named.length > 0 ? named : rankerNames.slice(0, 1))];
  return names.map((name) => {
    if (rankerNames.some((each) => each === name) || /[./]/.test(name)) return name;
    if (name === "") throw usageError("The option --ranker needs a value.");
    const hint = nearest(name, rankerNames);
    const there = hint ? `did you mean "${hint}"?` : `there are ${rankerNames.join(", ")}.`;
    throw usageError(`There is no ranker "${name}"; ${there}`);
  });
}

async function writeRun(file: string, lines: readonly object[]): Promise<void> {
  try {
    await writeFile(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new GatewayError("CONFIG_INVALID", `${file}: cannot be written (${code}).`, { cause });
  }
}

const points = (share: number): string => (share * 100).toFixed(1);
const columns: readonly (readonly [head: string, of: (evaluation: Evaluation) => string])[] = [
  ["ranker", ({ ranker }) => ranker],
  ["Recall@1", ({ recall1 }) => points(recall1)],
  ["Recall@5", ({ recall5 }) => points(recall5)],
  ["Recall@10", ({ recall10 }) => points(recall10)],
  ["nDCG@10", ({ ndcg10 }) => points(ndcg10)],
  ["MRR", ({ mrr }) => points(mrr)],
  ["nothing", ({ silence }) => (silence === undefined ? "" : points(silence))],
  ["p50 ms", ({ p50Ms }) => p50Ms.toFixed(3)],
  ["p95 ms", ({ p95Ms }) => p95Ms.toFixed(3)],
  ["CPU ms", ({ cpuMs }) => cpuMs.toFixed(3)],
  ["index ms", ({ indexMs }) => indexMs.toFixed(0)],
  ["MB", ({ memoryMb }) => memoryMb.toFixed(1)],
];

/** Formats a Markdown table. */
function describe(
  tools: number,
  queries: readonly LabelledQuery[],
  evaluations: readonly Evaluation[],
): string {
  const idle = queries.filter(({ relevant }) => relevant.length === 0).length;
  const printed = columns.filter(([head]) => head !== "nothing" || idle > 0);
  const rows = [
    printed.map(([head]) => head),
    ...evaluations.map((each) => printed.map(([, of]) => of(each))),
  ];
  const widths = printed.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  const [head = [], ...body] = rows;
  const note = idle > 0 ? ` "nothing": how many of the ${idle} that no tool fits find nothing.` : "";
  return `${tools} tools, ${queries.length} queries.${note}\n\n${[line(head), rule, ...body.map(line)].join("\n")}\n`;
}

/** Costs and quality of a ranker. */
export interface Evaluation extends Quality {
  readonly ranker: string;
  /** Of the queries that no tool fits, the share for which it finds nothing; absent if there are none. */
  readonly silence?: number;
  /** Milliseconds that half of the queries take at most, and 95 of 100. */
  readonly p50Ms: number;
  readonly p95Ms: number;
  /** Milliseconds of CPU a query. */
  readonly cpuMs: number;
  /** Milliseconds from the tools to the first answer. */
  readonly indexMs: number;
  /** How much memory the index takes, in millions of bytes. */
  readonly memoryMb: number;
}

/** Answer to one query. */
export interface RunLine {
  readonly query: string;
  readonly ranked: readonly string[];
  readonly ms: number;
}

/** The first queries of a process are slow for reasons that are not the ranker's. */
const WARM_UP = 30;

/** Asks a ranker every query and measures it. */
async function evaluateRanker(
  make: () => Promise<Ranker>,
  tools: readonly Tool[],
  queries: readonly LabelledQuery[],
  { limit, onProgress }: { readonly limit: number; readonly onProgress: (done: number) => void },
): Promise<{ readonly evaluation: Evaluation; readonly run: readonly RunLine[] }> {
  const servers = new Map<string, Tool[]>(tools.map(({ server }) => [server, []]));
  for (const tool of tools) servers.get(tool.server)?.push(tool);
  const before = memoryInUse();
  const began = performance.now();
  const ranker = await make();
  for (const [server, own] of servers) ranker.update(server, own);
  await ranker.rank(queries[0]?.query ?? "", { limit });
  const indexMs = performance.now() - began;
  const memoryMb = Math.max(0, memoryInUse() - before) / 1e6;

  for (const { query } of queries.slice(0, WARM_UP)) await ranker.rank(query, { limit });
  const run: RunLine[] = [];
  const cpuBefore = process.cpuUsage();
  for (const { query } of queries) {
    const asked = performance.now();
    const { hits } = await ranker.rank(query, { limit });
    run.push({ query, ranked: hits.map(({ tool }) => tool.id), ms: performance.now() - asked });
    onProgress(run.length);
  }
  const { user, system } = process.cpuUsage(cpuBefore);

  const wanting = queries.flatMap(({ relevant }, index) =>
    relevant.length > 0 ? [measureQuality(run[index]?.ranked ?? [], relevant)] : [],
  );
  const idle = run.filter((_, index) => queries[index]?.relevant.length === 0);
  const silent = idle.filter(({ ranked }) => ranked.length === 0);
  const times = run.map(({ ms }) => ms);
  const evaluation: Evaluation = {
    ranker: ranker.name,
    ...meanQuality(wanting),
    ...(idle.length > 0 && { silence: silent.length / idle.length }),
    p50Ms: percentile(times, 0.5),
    p95Ms: percentile(times, 0.95),
    cpuMs: (user + system) / 1000 / queries.length,
    indexMs,
    memoryMb,
  };
  return { evaluation, run };
}

/** Measures the memory in use after a garbage collection, if the runtime allows one. */
function memoryInUse(): number {
  try {
    setFlagsFromString("--expose-gc");
    const collect = runInNewContext("gc") as () => void;
    collect();
  } catch {
    // Without a collection the value is approximate.
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
