/**
 * Fits what turns the evidence of a fusion into a relevance, and chooses the gate:
 *
 *     deno run -A playground/train/fit-relevance.ts FOLDER_OF_LABELLED_SETS [--write]
 *
 * Every figure it prints for a set comes from weights that were fitted to the other sets alone. `--write` writes
 * the weights that were fitted to all of them.
 */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Tool } from "../../core/mod.ts";
import { type LabelledQuery, readQueries, readTools } from "../../plugins/lib/evaluation.ts";
import { type Evidence, loadFusion } from "../../plugins/search/mod.ts";
import { readLabelledSet } from "../labelled/labelled-set.ts";
import { type Example, fitLogistic } from "./logistic.ts";

const { fusionReader, modelInputs, estimateRelevance } = await loadFusion();

const MOST_QUERIES = 300;
const DEPTH = 10;
/** How much a tool counts that is not first: the first decides whether anything is shown. */
const REST = 0.05;
/** How much a query counts whose right tool was taken away: most who search have something to find. */
const REMOVED = 0.1;
/** Recall, in points of 100 and on average over the sets, that the gate may cost. */
const MOST_LOST = 1.5;

/** One query with the tools that were found for it. */
interface Asked {
  readonly set: string;
  readonly group: string;
  /** The expected result: the right tool, nothing since it was removed, or nothing since there never was one. */
  readonly kind: "right" | "removed" | "far" | "near" | "missing";
  readonly right: number;
  readonly found: readonly { readonly evidence: Evidence; readonly isRight: boolean }[];
}

/** Sets over the same tools are one group: what is fitted to one of them has seen the other. */
function getGroup(set: string): string {
  return set.startsWith("livemcp") ? "livemcp" : set;
}

async function ask(
  set: string,
  { tools, queries, nothing = [] }: Awaited<ReturnType<typeof readSet>>,
): Promise<Asked[]> {
  const reader = fusionReader();
  for (const server of new Set(tools.map((tool) => tool.server)))
    reader.update(
      server,
      tools.filter((tool) => tool.server === server),
    );
  const asked: Asked[] = [];
  const step = Math.max(1, Math.ceil(queries.length / MOST_QUERIES));
  const look = async (kind: Asked["kind"], { query, relevant }: LabelledQuery): Promise<void> => {
    const isRight = (id: string): boolean => relevant.includes(id);
    const candidates = (await reader.read(query)).filter(
      ({ tool }) => kind !== "removed" || !isRight(tool.id),
    );
    const found = candidates.slice(0, DEPTH).map((one) => ({
      evidence: one.evidence(),
      isRight: isRight(one.tool.id),
    }));
    asked.push({ set, group: getGroup(set), kind, right: relevant.length, found });
  };
  for (const [at, query] of queries.entries()) {
    if (at % step !== 0) continue;
    await look("right", query);
    await look("removed", query);
  }
  for (const query of nothing) await look(query.kind as Asked["kind"], query);
  return asked;
}

async function readSet(folder: string): Promise<{
  readonly tools: readonly Tool[];
  readonly queries: readonly LabelledQuery[];
  readonly nothing?: readonly LabelledQuery[];
}> {
  const text = (name: string): Promise<string> => readFile(join(folder, name), "utf8");
  return {
    tools: readTools(await text("tools.jsonl"), "tools.jsonl"),
    queries: readQueries(await text("queries.jsonl"), "queries.jsonl"),
  };
}

/** Each group counts the same, however many queries it has. */
function createExamples(all: readonly Asked[]): Example[] {
  const sizes = new Map<string, number>();
  for (const { group } of all) sizes.set(group, (sizes.get(group) ?? 0) + 1);
  return all.flatMap(({ group, kind, found }) =>
    found.map(({ evidence, isRight }, at) => ({
      terms: modelInputs(evidence),
      isRight,
      weight: ((at === 0 ? 1 : REST) * (kind === "removed" ? REMOVED : 1)) / (sizes.get(group) ?? 1),
    })),
  );
}

const best = ({ found }: Asked, weights: readonly number[]): number =>
  found[0] ? estimateRelevance(found[0].evidence, weights) : 0;
const recall = ({ found, right }: Asked): number =>
  found.slice(0, 5).filter(({ isRight }) => isRight).length / right;
const mean = (numbers: readonly number[]): number =>
  numbers.reduce((sum, each) => sum + each, 0) / Math.max(1, numbers.length);

function groupItems<Item, Key>(items: readonly Item[], keyOf: (item: Item) => Key): Map<Key, Item[]> {
  const groups = new Map<Key, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
}

/** The highest gate that costs no set group more recall than it may, on average over the groups. */
function findGate(all: readonly Asked[], weights: readonly number[]): number {
  const groups = groupItems(
    all.filter(({ kind }) => kind === "right"),
    ({ group }) => group,
  );
  let gate = 0;
  for (let next = 0.001; next < 0.6; next += 0.001) {
    const lost = mean(
      [...groups.values()].map((ones) =>
        mean(ones.map((one) => (best(one, weights) < next ? recall(one) : 0))),
      ),
    );
    if (lost * 100 > MOST_LOST) break;
    gate = next;
  }
  return gate;
}

/** How far what is claimed of the first hit is from how often it is right, in points of 100. */
function calibrationError(all: readonly Asked[], weights: readonly number[]): number {
  const firsts = all.filter(({ found }) => found.length > 0);
  const bins = groupItems(firsts, (one) => Math.min(9, Math.floor(best(one, weights) * 10)));
  return [...bins.values()].reduce((sum, ones) => {
    const claimed = mean(ones.map((one) => best(one, weights)));
    const right = mean(ones.map(({ found }) => Number(found[0]?.isRight)));
    return sum + (100 * Math.abs(claimed - right) * ones.length) / firsts.length;
  }, 0);
}

function report(set: string, all: readonly Asked[], weights: readonly number[], gate: number): string {
  const silent = (...kinds: Asked["kind"][]): string => {
    const ones = all.filter(({ kind }) => kinds.includes(kind));
    return ones.length === 0
      ? "–"
      : (100 * mean(ones.map((one) => Number(best(one, weights) < gate)))).toFixed(0);
  };
  const right = all.filter(({ kind }) => kind === "right");
  const kept = mean(right.map((one) => (best(one, weights) < gate ? 0 : recall(one))));
  const cells = [
    set,
    String(right.length),
    (100 * mean(right.map(recall))).toFixed(1),
    (100 * kept).toFixed(1),
    silent("removed"),
    silent("far"),
    silent("near"),
    silent("missing"),
    calibrationError(right, weights).toFixed(0),
    calibrationError(
      all.filter(({ kind }) => kind === "right" || kind === "removed"),
      weights,
    ).toFixed(0),
  ];
  return `| ${cells.join(" | ")} |`;
}

const print = (line: string): void => void process.stdout.write(`${line}\n`);

const [folder, write] = process.argv.slice(2);
if (folder === undefined) throw new Error("Name the folder of the labelled sets.");
const all: Asked[] = [];
for (const set of (await readdir(folder, { withFileTypes: true })).filter((entry) => entry.isDirectory()))
  all.push(...(await ask(set.name, await readSet(join(folder, set.name)))));
all.push(...(await ask("own", await readLabelledSet())));

print(
  "| set | queries | recall@5 | with the gate | silent: right tool removed | far | near | missing | calibration error | with removed |\n|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
);
for (const set of new Set(all.map((one) => one.set))) {
  const own = all.filter((one) => one.set === set);
  const others = all.filter(({ group }) => group !== getGroup(set));
  const weights = fitLogistic(createExamples(others));
  print(report(set, own, weights, findGate(others, weights)));
}
const rounded = (numbers: readonly number[]): number[] =>
  numbers.map((each) => Math.round(each * 1000) / 1000);
const fitted = fitLogistic(createExamples(all));
const gate = rounded([findGate(all, fitted)])[0];
print(`\nFitted to all of them: ${JSON.stringify(fitted)}, gate ${gate}`);
if (write === "--write") {
  const file = fileURLToPath(new URL("../../plugins/search/fusion/relevance.ts", import.meta.url));
  const listed = (numbers: readonly number[]): string => `[${rounded(numbers).join(", ")}]`;
  const text = await readFile(file, "utf8");
  await writeFile(
    file,
    text
      .replace(/(relevanceWeights: readonly number\[\] = ).*;/, `$1${listed(fitted)};`)
      .replace(/(defaultGate = ).*;/, `$1${gate};`),
  );
}
