// Mixed load with five faults in a hundred calls, for as long as is wanted: `npm run soak -- --minutes 30`. It ends with a
// table, and with 1 if anything grew, leaked or stayed. Needs Linux.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { shownReport } from "./_soak/report.ts";
import { run } from "./_soak/run.ts";

process.exitCode = await main();

async function main(): Promise<number> {
  const { values } = parseArgs({
    options: {
      minutes: { type: "string", default: "10" },
      seed: { type: "string", default: "20261116" },
      json: { type: "boolean", default: false },
    },
  });
  const seconds = Number(values.minutes) * 60;
  if (!(seconds >= 5)) return refuse("--minutes needs a number, 0.1 or more.");
  if (process.platform !== "linux")
    return refuse("A soak counts what processes hold by /proc, which only Linux has.");
  const home = await mkdtemp(join(tmpdir(), "toolpipe-soak-"));
  try {
    const report = await run({ home, seconds, seed: Number(values.seed) });
    process.stdout.write(values.json ? `${JSON.stringify(report)}\n` : shownReport(report));
    return report.faults.length > 0 ? 1 : 0;
  } finally {
    await rm(home, { recursive: true, force: true });
  }
}

function refuse(why: string): number {
  process.stderr.write(`${why}\n`);
  return 2;
}
