import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import { type Change, forgetAll, makeChanges, runsDone } from "../../lib/config-file/journal.ts";
import { ownChange, ownConfigFile, readOwnConfig } from "../../lib/config-file/own-config.ts";
import { thisMachine } from "../../lib/server-entry/machine.ts";
import { coloured, output, usageError } from "../../lib/terminal/output.ts";
import { clients } from "../../sources/mod.ts";
import { addedBy, type Step, stepsFor } from "./changes.ts";
import { clientFiles } from "./client-files.ts";
import { launchOf } from "./launch.ts";
import { type Measured, measure } from "./measure.ts";
import { planInit, without } from "./plan.ts";
import { describeInit, type Outcome, reportOn } from "./report.ts";
import { type Undone, undoRun } from "./undo.ts";

const args = {
  client: {
    type: "string",
    description: "Only these clients, separated by commas; or the path of a project's file",
    valueHint: "NAMES",
  },
  yes: { type: "boolean", description: "Write without asking" },
  "dry-run": { type: "boolean", description: "Only show what would change" },
  measure: {
    type: "boolean",
    default: true,
    description: "Start the servers to count their tokens; --no-measure moves them untried",
  },
  undo: { type: "boolean", description: "Put everything back as it was" },
  force: { type: "boolean", description: "With --undo, also in files that were changed since" },
  config: { type: "string", description: "The JSON config that the servers go to", valueHint: "FILE" },
  json: { type: "boolean", description: "Print JSON" },
} as const;

/** Moves the servers of the clients on this machine behind toolpipe, and back. */
export const init: Command = defineCommand({
  args,
  async run(given) {
    for (const name of ["client", "config"] as const)
      if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
    if (given.force && !given.undo) throw usageError("The option --force is for --undo.");
    if (given.undo) {
      if (given.client !== undefined) throw usageError("--undo puts everything back: it takes no --client.");
      return undoAll(given.force === true, given.json === true);
    }
    const machine = thisMachine();
    const own = await readOwnConfig(resolve(given.config ?? ownConfigFile(machine)));
    const launch = launchOf();
    const named = (given.client ?? "").split(",").flatMap((name) => name.trim() || []);
    const planned = planInit(await clientFiles(machine, named, [...clients]), own, machine);
    const measured = given.measure ? await measureMoves(planned) : undefined;
    const plans = measured ? without(planned, measured.failed) : planned;
    const steps = await stepsFor(plans, own, launch);
    const added = addedBy(plans, own);
    const changes = await changesOf(steps, await ownChange(own, added));
    const report = reportOn({ steps, added: Object.keys(added), own, measured, named });
    const show = (outcome: Outcome): void =>
      output(given.json, { ...report, outcome }, () => describeInit(report, outcome));
    if (changes.length === 0) return show("nothing");
    if (given["dry-run"]) return show("shown");
    if (!given.yes) {
      if (given.json || !process.stdin.isTTY) return show("shown");
      process.stdout.write(describeInit(report, "asked"));
      if (!(await confirmed("Write this? [y/N] "))) {
        process.stdout.write("Nothing was changed.\n");
        return;
      }
      await makeChanges(changes);
      process.stdout.write(coloured(describeInit({ ...report, clients: [] }, "written")));
      return;
    }
    await makeChanges(changes);
    show("written");
  },
});

async function measureMoves(plans: ReturnType<typeof planInit>): Promise<Measured> {
  // What a project defines is not run before somebody has agreed to it.
  const own = plans.filter(({ from }) => from.scope === "user");
  const entries = own.flatMap(({ moves }) => moves.map(({ as, entry }) => [as, entry] as const));
  return measure(Object.fromEntries(entries));
}

/** Our own config first: should we be ended in between, a server is in both places and not in none. */
async function changesOf(steps: readonly Step[], own: Change | undefined): Promise<readonly Change[]> {
  const clients = steps.flatMap(({ change }) => change ?? []);
  return own ? [own, ...clients] : clients;
}

async function confirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

/** The last run first, as each began where the one before had ended. */
async function undoAll(force: boolean, json: boolean): Promise<void> {
  const undone: Undone[] = [];
  for (const run of await runsDone()) undone.push(...(await undoRun(run, force)));
  await forgetAll();
  output(json, { undone }, () => {
    if (undone.length === 0) return "There is nothing to undo.\n";
    return `${undone.map(({ file, how }) => `✓ ${file} ${undoneWords[how]}`).join("\n")}\n`;
  });
}

const undoneWords: Readonly<Record<Undone["how"], string>> = {
  restored: "is as it was",
  removed: "is gone again",
  untouched: "had not been changed",
  merged: "has its servers back, and keeps what else was changed in it",
};
