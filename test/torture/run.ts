// Kills processes in the middle of calls, a thousand for each store: node build/test/torture/run.js [trials] [store…].
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { hasRedis } from "../support/redis.ts";
import type { Findings } from "./inspect.ts";
import { torture } from "./torture.ts";

const columns: readonly (readonly [name: string, of: (found: Findings) => number])[] = [
  ["answers", (found) => found.answered],
  ["effects", (found) => found.effects],
  ["told that the outcome is unknown", (found) => found.unknown],
  ["duplicates", (found) => found.duplicates],
  ["lost effects", (found) => found.lostEffects],
  ["lost records", (found) => found.lostRecords],
  ["broken files", (found) => found.brokenFiles],
  ["odd answers", (found) => found.oddAnswers.length],
];
const countFaults = (found: Findings): number => columns.slice(3).reduce((sum, [, of]) => sum + of(found), 0);

const [given = "1000", ...wanted] = process.argv.slice(2);
const trials = Number(given);
const stores = (["file", "redis"] as const).filter(
  (store) => (wanted.length === 0 || wanted.includes(store)) && (store === "file" || hasRedis),
);
if (!Number.isInteger(trials) || trials < 1 || stores.length === 0) {
  process.stderr.write("Usage: torture [trials] [file] [redis] (Redis needs redis-server on this machine)\n");
  process.exit(2);
}

const rows: string[][] = [];
for (const store of stores) {
  const folder = await mkdtemp(join(tmpdir(), "toolpipe-torture-"));
  const found = await torture({
    store,
    trials,
    folder: join(folder, "trials"),
    killRedisEvery: 50,
    onTrial(done) {
      if (process.stderr.isTTY) process.stderr.write(`\r${store}: ${done} of ${trials} `);
    },
  });
  if (process.stderr.isTTY) process.stderr.write("\r\x1b[K");
  rows.push([store, String(trials), ...columns.map(([, of]) => String(of(found)))]);
  if (countFaults(found) > 0) process.exitCode = 1;
  else await rm(folder, { recursive: true, force: true });
  if (countFaults(found) > 0) process.stderr.write(`What was left is in ${folder}.\n`);
}
const head = ["store", "kills", ...columns.map(([name]) => name)];
for (const row of [head, head.map(() => "---"), ...rows]) process.stdout.write(`| ${row.join(" | ")} |\n`);
