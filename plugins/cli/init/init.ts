import { resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { type Gateway, GatewayError, type JsonObject } from "../../../core/mod.ts";
import { defineCommand } from "../../../core/services/command.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import {
  type Change,
  deleteAllRuns,
  listRuns,
  makeChanges,
  prepareOwnChange,
  readOwnConfig,
} from "../../lib/config-file/changes.ts";
import { getOwnConfigFile, thisMachine } from "../../lib/server-entry/machine.ts";
import { colorMarks, output, quoteForShell, usageError } from "../../lib/terminal/output.ts";
import { clients } from "../../sources/mod.ts";
import { withGateway } from "../context.ts";
import { estimatePreset } from "../cost.ts";
import {
  checkServers,
  type Failures,
  recordFailures,
  type ServerCheck,
  toTimedConfig,
} from "../doctor/checks.ts";
import { findRemedy } from "../doctor/remedy.ts";
import { collectAdded, planSteps, type Step } from "./changes.ts";
import { findClientFiles } from "./client-files.ts";
import { getLaunch } from "./client-forms.ts";
import { planInit, removeFailed } from "./plan.ts";
import { createInitReport, describeInit, type Measured, type Outcome } from "./report.ts";
import { type Undone, undoRun } from "./undo.ts";

const args = {
  client: {
    type: "string",
    description: "Only these clients, separated by commas; or the path of a project's file",
    valueHint: "NAMES",
  },
  yes: { type: "boolean", description: "Write without asking" },
  "dry-run": { type: "boolean", description: "Only show the changes" },
  measure: {
    type: "boolean",
    default: true,
    description: "Start the servers to count their tokens; --no-measure moves them untried",
  },
  undo: { type: "boolean", description: "Restore all changed files" },
  force: { type: "boolean", description: "With --undo: also in files that were changed afterwards" },
  config: { type: "string", description: "The JSON config that the servers go to", valueHint: "FILE" },
  json: { type: "boolean", description: "Print JSON" },
} as const;

/** Moves the servers of the clients on this machine behind toolpipe, and back. */
export const command = defineCommand({
  args,
  async run(given) {
    for (const name of ["client", "config"] as const)
      if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
    if (given.force && !given.undo) throw usageError("The option --force needs --undo.");
    if (given.undo) {
      if (given.client !== undefined)
        throw usageError(
          "The options --undo and --client cannot be used together: --undo restores all clients.",
        );
      return undoRuns(given.force === true, given.json === true);
    }
    const machine = thisMachine();
    const own = await readOwnConfig(resolve(given.config ?? getOwnConfigFile(machine)));
    const launch = getLaunch();
    const named = (given.client ?? "").split(",").flatMap((name) => name.trim() || []);
    const planned = planInit(await findClientFiles(machine, named, [...clients]), own, machine);
    const measured = given.measure ? await measureMoves(planned) : undefined;
    const plans = measured ? removeFailed(planned, measured.failed) : planned;
    const steps = await planSteps(plans, own, launch);
    const added = collectAdded(plans, own);
    const changes = listChanges(steps, await prepareOwnChange(own, added));
    const report = createInitReport(steps, Object.keys(added), own, measured, named);
    const show = (outcome: Outcome): void =>
      output(given.json, { ...report, outcome }, () => describeInit(report, outcome));
    if (changes.length === 0) return show("nothing");
    if (given["dry-run"]) return show("shown");
    if (!given.yes) {
      if (given.json || !process.stdin.isTTY) return show("shown");
      process.stdout.write(describeInit(report, "asked"));
      if (!(await askToConfirm("Write this? [y/N] "))) {
        process.stdout.write("Nothing was changed.\n");
        return;
      }
      await makeChanges(changes);
      process.stdout.write(colorMarks(describeInit({ ...report, clients: [] }, "written")));
      return;
    }
    await makeChanges(changes);
    show("written");
  },
});

async function measureMoves(plans: ReturnType<typeof planInit>): Promise<Measured> {
  // Servers of a project are not run before the user has approved them.
  const own = plans.filter(({ from }) => from.scope === "user");
  const entries = own.flatMap(({ moves }) => moves.map(({ as, entry }) => [as, entry] as const));
  return measure(Object.fromEntries(entries));
}

/** Puts our own config first: if the process ends in between, a server is in both places rather than in none. */
function listChanges(steps: readonly Step[], own: Change | undefined): readonly Change[] {
  const clients = steps.flatMap(({ change }) => change ?? []);
  return own ? [own, ...clients] : clients;
}

async function askToConfirm(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    return /^y(es)?$/i.test((await terminal.question(question)).trim());
  } finally {
    terminal.close();
  }
}

/** Undoes all runs, the last one first. */
async function undoRuns(force: boolean, json: boolean): Promise<void> {
  const undone: Undone[] = [];
  for (const run of await listRuns()) undone.push(...(await undoRun(run, force)));
  await deleteAllRuns();
  output(json, { undone }, () => {
    if (undone.length === 0) return "There is nothing to undo.\n";
    return `${undone.map(({ file, how }) => `✓ ${file} ${outcomes[how]}`).join("\n")}\n`;
  });
}

const outcomes: Readonly<Record<Undone["how"], string>> = {
  restored: "is restored",
  removed: "is removed",
  untouched: "was not changed",
  merged: "has its servers back and keeps its other changes",
};

/** Starts servers with the entries for our own config: only those that work are moved there. */
async function measure(entries: Readonly<JsonObject>): Promise<Measured> {
  const failures = recordFailures();
  // The config is not written yet, so a cached listing would not be used.
  const options = { sources: { mcpServers: entries }, cache: { enabled: false } };
  return withGateway(
    toTimedConfig({ preset: anygpt, options }),
    (gateway) => measureServers(gateway, failures),
    [failures.plugin],
  );
}

async function measureServers(gateway: Gateway, failures: Failures): Promise<Measured> {
  const checked = await checkServers(gateway, failures);
  const failed = checked.filter(({ ok }) => !ok);
  return {
    servers: new Map(checked.map(({ status, tools, tokens }) => [status.name, { tools, tokens }])),
    failed: new Map(
      await Promise.all(failed.map(async (one) => [one.status.name, await explainFailure(one)] as const)),
    ),
    through: estimatePreset(gateway, anygpt),
  };
}

async function explainFailure({ status, error }: ServerCheck): Promise<string> {
  const variables = GatewayError.is(error) ? error.data["variables"] : undefined;
  if (Array.isArray(variables)) return `It needs ${variables.join(", ")}, which is not set here.`;
  if (status.status === "needs-auth")
    return `It needs a login: run "toolpipe login ${quoteForShell(status.name)}", then run init again.`;
  return `It does not work from here: ${(await findRemedy(status, error)).problem}`;
}
