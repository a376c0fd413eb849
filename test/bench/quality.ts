import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { Ranker } from "../../core/services/search.ts";
import {
  meanQuality,
  measureQuality,
  readQueries,
  readTools,
  readUserFile,
} from "../../plugins/lib/evaluation.ts";
import { fusionRanker } from "../../plugins/search/fusion/ranker.ts";
import { createRanker, type RankerName } from "../../plugins/search/mod.ts";
import { fromRoot } from "./_root.ts";

/** Of larger sets, every so many-th query is asked. */
const MOST_QUERIES = 400;

const columns: readonly (readonly [title: string, make: () => Promise<Ranker>])[] = [
  ...(["simple", "keyword", "embedding", "fusion"] as const).map((name: RankerName) => {
    return [name, async () => createRanker(name)] as const;
  }),
  ["fusion, gate 0", async () => fusionRanker({ gate: 0 })],
];

/** Prints how well each ranker finds what it should, as a Markdown table of nDCG@10 / Recall@5 for each labelled set. */
export async function quality(): Promise<void> {
  const sets = new Map([["the project's own", fromRoot("playground", "labelled")]]);
  const shared = fromRoot("..", "shared", "data", "retrieval");
  if (existsSync(shared))
    for (const name of readdirSync(shared).toSorted())
      if (existsSync(join(shared, name, "queries.jsonl"))) sets.set(name, join(shared, name));
  process.stdout.write(
    `| labelled set | tools | queries | ${columns.map(([title]) => title).join(" | ")} |\n`,
  );
  process.stdout.write(`|---|--:|--:|${columns.map(() => "--:").join("|")}|\n`);
  for (const [name, folder] of sets) process.stdout.write(`${await createRow(name, folder)}\n`);
}

async function createRow(name: string, folder: string): Promise<string> {
  const tools = readTools(await readUserFile(join(folder, "tools.jsonl")), `${name}: tools.jsonl`);
  const all = readQueries(await readUserFile(join(folder, "queries.jsonl")), `${name}: queries.jsonl`, tools);
  const step = Math.ceil(all.length / MOST_QUERIES);
  const queries = all.filter((_, index) => index % step === 0);
  const cells: string[] = [];
  for (const [, make] of columns) {
    const ranker = await make();
    for (const server of new Set(tools.map((tool) => tool.server)))
      ranker.update(
        server,
        tools.filter((tool) => tool.server === server),
      );
    const each = [];
    for (const { query, relevant } of queries) {
      const { hits } = await ranker.rank(query);
      each.push(
        measureQuality(
          hits.map(({ tool }) => tool.id),
          relevant,
        ),
      );
    }
    const { ndcg10, recall5 } = meanQuality(each);
    cells.push(`${(100 * ndcg10).toFixed(0)} / ${(100 * recall5).toFixed(0)}`);
  }
  return `| ${[name, tools.length, queries.length, ...cells].join(" | ")} |`;
}
