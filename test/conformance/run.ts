import { availableParallelism } from "node:os";
import { writePart } from "../bench/_readme.ts";
import { asServer } from "./_as-server.ts";
import { compareBaseline, formatTable, type Outcome, type Target } from "./_baseline.ts";
import type { Check } from "./_checks.ts";
import { clientCommand } from "./_client-command.ts";
import { type Found, findSuite, type Revision, revisions, type Suite } from "./_suite.ts";

// Runs the conformance suite of the protocol against all that it can be run against, or what is named. It is found
// by the variable TOOLPIPE_PROGRAMS, the `node_modules` where it is installed. `--write` puts the table in the README.

const all: readonly Target[] = ["fixture", "passthrough", "passthrough-older", "anygpt", "client"];
const named = all.filter((target) => process.argv.includes(target));
const suite = findSuite();
if (suite) process.exitCode = await main(suite);
else {
  process.stderr.write(
    "The conformance suite is not there: TOOLPIPE_PROGRAMS names no folder that has it.\n",
  );
  process.exitCode = 2;
}

async function main(suite: Suite): Promise<number> {
  const outcomes: Outcome[] = [];
  for (const target of named.length > 0 ? named : all) {
    const found = target === "client" ? await asClient(suite) : await asServer(suite, target, revisions);
    for (const [revision, each] of found) {
      const scored = await suite.scored(revision, target === "client" ? "client" : "server");
      outcomes.push(compareBaseline(target, revision, scored, each));
    }
  }
  const table = formatTable(outcomes);
  process.stdout.write(`${table}\n`);
  const surprising = outcomes.filter(({ surprises }) => surprises.length > 0);
  for (const { target, revision, surprises } of surprising) {
    process.stdout.write(`\n${target}, ${revision}:\n${surprises.map((each) => `  ${each}\n`).join("")}`);
  }
  if (surprising.length > 0) return 1;
  if (process.argv.includes("--write")) writePart("conformance", table);
  return 0;
}

/** The suite would start all clients at once, which few machines bear. */
async function asClient(suite: Suite): Promise<ReadonlyMap<Revision, Found>> {
  const command = clientCommand();
  const found = new Map<Revision, Found>();
  for (const revision of revisions) {
    const checks = new Map<string, readonly Check[]>();
    const waiting = [...(await suite.scored(revision, "client"))];
    const work = async (): Promise<void> => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        checks.set(next, await suite.client(command, revision, next));
      }
    };
    await Promise.all(Array.from({ length: Math.min(4, availableParallelism()) }, work));
    found.set(revision, checks);
  }
  return found;
}
