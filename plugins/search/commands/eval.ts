import { writeFile } from "node:fs/promises";
import { GatewayError, nearest } from "../../../core/mod.ts";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import { type LabelledQuery, readQueries, readTools, readUserFile } from "../../lib/evaluation.ts";
import { counted, output, usageError } from "../../lib/terminal/output.ts";
import { createRanker, rankerNames } from "../mod.ts";
import { type Evaluation, evaluateRanker, type RunLine } from "./evaluation.ts";

/** How often the progress is shown anew, in milliseconds. */
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
    const names = rankersIn(typed);
    const { tools: toolsFile = "", queries: queriesFile = "" } = given;
    const tools = readTools(await readUserFile(toolsFile), toolsFile);
    const queries = readQueries(await readUserFile(queriesFile), queriesFile, tools);

    const evaluations: Evaluation[] = [];
    const lines: (RunLine & { readonly ranker?: string })[] = [];
    for (const name of names) {
      const progress = progressLine(name, queries.length);
      const { evaluation, run } = await evaluateRanker(() => createRanker(name), tools, queries, {
        limit,
        onProgress: progress.show,
      }).finally(progress.remove);
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

/** The rankers that were asked for, each once and in that order; the first of all where none was. */
function rankersIn(typed: readonly string[]): string[] {
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

/** Shows a person at a terminal how far it is. Pipes see nothing. */
function progressLine(name: string, all: number): { show(done: number): void; remove(): void } {
  if (!process.stderr.isTTY) return { show() {}, remove() {} };
  let shownAt = 0;
  return {
    show(done) {
      if (Date.now() - shownAt < PROGRESS_MS) return;
      shownAt = Date.now();
      process.stderr.write(
        `\r\u001b[2K${name}: ${done} of ${counted(all, "query").replace("querys", "queries")}`,
      );
    },
    remove() {
      if (shownAt > 0) process.stderr.write("\r\u001b[2K");
    },
  };
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

/** A table that Markdown shows as one too. */
function describe(
  tools: number,
  queries: readonly LabelledQuery[],
  evaluations: readonly Evaluation[],
): string {
  const idle = queries.filter(({ relevant }) => relevant.length === 0).length;
  const shown = columns.filter(([head]) => head !== "nothing" || idle > 0);
  const rows = [shown.map(([head]) => head), ...evaluations.map((each) => shown.map(([, of]) => of(each)))];
  const widths = shown.map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const line = (row: readonly string[]): string =>
    `| ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join(" | ")} |`;
  const rule = `|${widths.map((width, column) => (column === 0 ? "-".repeat(width + 2) : `${"-".repeat(width + 1)}:`)).join("|")}|`;
  const [head = [], ...body] = rows;
  const note = idle > 0 ? ` "nothing": how many of the ${idle} that no tool fits find nothing.` : "";
  return `${tools} tools, ${queries.length} queries.${note}\n\n${[line(head), rule, ...body.map(line)].join("\n")}\n`;
}
