import { resolve } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import type { RegistryEntry } from "../../../core/services/registries.ts";
import {
  makeChanges,
  type OwnConfig,
  prepareOwnChange,
  readOwnConfig,
} from "../../lib/config-file/changes.ts";
import { getOwnConfigFile, thisMachine } from "../../lib/server-entry/machine.ts";
import { normalizeEntry } from "../../lib/server-entry/normalize.ts";
import { listPackages } from "../../lib/server-entry/server-json.ts";
import { showWaiting } from "../../lib/servers.ts";
import { describeDefinition, summarizeDefinition } from "../../lib/terminal/definition.ts";
import { colorMarks, formatPath, output, quoteForShell, usageError } from "../../lib/terminal/output.ts";
import { toLine } from "../entry.ts";
import { chooseWay, type InstallOptions, type InstallPlan, planInstall, refuseDeleted } from "../install.ts";
import { formatRegistry } from "../options.ts";
import { askNeeds, confirm, describeNeed, parseGiven } from "./needs.ts";
import { findEntry, formatStatus, openRegistries, registryArgs } from "./registries.ts";

const args = {
  entry: { type: "positional", required: true, description: "The server, as io.github.owner/name" },
  version: { type: "string", description: "An exact version; the latest by default", valueHint: "V" },
  as: { type: "string", description: "Its name in your config", valueHint: "ID" },
  use: {
    type: "string",
    description: "Which of its ways: npm, pypi, oci, nuget, mcpb or remote",
    valueHint: "WAY",
  },
  env: { type: "string", description: "A variable for it; may be given several times", valueHint: "K=V" },
  header: { type: "string", description: "A header for it; may be given several times", valueHint: "K:V" },
  arg: { type: "string", description: "An argument for it, by its name", valueHint: "K=V" },
  yes: { type: "boolean", description: "Write without asking" },
  config: { type: "string", description: "The JSON config that it goes to", valueHint: "FILE" },
  json: { type: "boolean", description: "Print JSON" },
  ...registryArgs,
} as const;

/** Adds a server of a registry to the user's own config. */
export const command: Command = defineCommand({
  args,
  async run(given, context) {
    for (const name of ["as", "use", "config"] as const)
      if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
    const options: InstallOptions = { id: given.as, use: given.use, given: parseGiven(context.typed) };
    const own = await readOwnConfig(resolve(given.config ?? getOwnConfigFile(thisMachine())));
    const { entry, note } = await openRegistries(context, given, (registries) =>
      findEntry(registries, given.entry, given.version),
    );
    refuseDeleted(entry);
    const isAsked = !given.yes && !given.json && process.stdin.isTTY === true;
    const plan = await choosePlan(entry, options, isAsked);
    checkFree(own, plan.id);
    if (note !== undefined) process.stderr.write(`! ${note}\n`);
    const report = toReport(entry, plan, own);
    if (isAsked) process.stdout.write(colorMarks(describePlan(entry, plan, own.file)));
    if (given.yes || (isAsked && (await confirm("Add this? [y/N] ")))) {
      await write(own, plan);
      output(given.json, { ...report, outcome: "written" }, () => describeAdded(entry, plan, own.file));
      return;
    }
    if (isAsked) {
      process.stdout.write("Nothing was changed.\n");
      return;
    }
    output(
      given.json,
      { ...report, outcome: "shown" },
      () => `${describePlan(entry, plan, own.file)}Nothing was changed: --yes adds it.\n`,
    );
  },
});

/** Asks at a terminal for missing settings, but for no secret: those should not be typed into terminals. */
async function choosePlan(
  entry: RegistryEntry,
  options: InstallOptions,
  isAsked: boolean,
): Promise<InstallPlan> {
  const makePlan = await planner(entry, options.use);
  const plan = makePlan(options);
  const given = isAsked ? await askNeeds(plan.toSet, options.given) : undefined;
  return given ? makePlan({ ...options, given }) : plan;
}

async function planner(
  entry: RegistryEntry,
  use: string | undefined,
): Promise<(options: InstallOptions) => InstallPlan> {
  if (chooseWay(entry, use) !== "mcpb") return (options) => planInstall(entry, options);
  const [{ fetchBundle }, { planBundle }] = await Promise.all([
    import("../bundle.ts"),
    import("../bundle.ts"),
  ]);
  const done = showWaiting(`Fetching the bundle of ${entry.name} …`);
  const bundle = await fetchBundle(entry).finally(done);
  return (options) => planBundle(entry, bundle, options);
}

function checkFree({ names, file }: OwnConfig, id: string): void {
  if (!names.has(id)) return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `There is a server "${id}" in ${file} already. Give this one another name with --as.`,
  );
}

async function write(own: OwnConfig, { id, definition }: InstallPlan): Promise<void> {
  const change = await prepareOwnChange(own, { [id]: definition });
  if (change) await makeChanges([change]);
}

function toReport(entry: RegistryEntry, plan: InstallPlan, { file }: OwnConfig): object {
  return {
    name: entry.name,
    version: entry.version,
    status: entry.status,
    registry: formatRegistry(entry.registry),
    id: plan.id,
    way: plan.way,
    file,
    definition: plan.definition,
    toSet: plan.toSet.map(({ variable, name, isSecret }) => ({ variable, name, isSecret })),
    withheld: plan.withheld,
  };
}

/** Formats a plan, for the user to decide on. */
function describePlan(entry: RegistryEntry, plan: InstallPlan, file: string): string {
  const status = formatStatus(entry);
  const base = listPackages(entry.server, plan.way)[0]?.["registryBaseUrl"];
  const { config } = normalizeEntry(
    { name: plan.id, entry: plan.definition },
    { source: "inline", scope: "config" },
  );
  return `${[
    `${entry.name} ${entry.version} of ${formatRegistry(entry.registry)}`,
    ...(entry.description ? [`  ${entry.description}`] : []),
    ...(status ? [`  ! It is ${status}`] : []),
    "",
    `It goes to ${formatPath(file)} as:`,
    "",
    ...(config ? [describeDefinition(summarizeDefinition(config))] : []),
    ...(typeof base === "string" ? [`  Published at: ${toLine(base, 200)}`] : []),
    ...describeNeeds(plan),
    "",
  ].join("\n")}\n`;
}

/** Formats the added server, and the next steps. */
function describeAdded(entry: RegistryEntry, plan: InstallPlan, file: string): string {
  const { id, way } = plan;
  const config = `--config ${quoteForShell(file)}`;
  return `${[
    `✓ Added ${entry.name} ${entry.version} as "${id}" to ${formatPath(file)}`,
    ...describeNeeds(plan),
    "",
    "Next:",
    `  toolpipe tools ${quoteForShell(id)} ${config}    shows what it offers`,
    ...(way === "remote"
      ? [`  toolpipe login ${quoteForShell(id)} ${config}    if it asks for a login`]
      : []),
    "  toolpipe init    puts it behind your clients, if that is not done yet; --undo takes all of it back",
  ].join("\n")}\n`;
}

function describeNeeds({ toSet, withheld }: InstallPlan): readonly string[] {
  const lines = toSet.flatMap((need) => [
    ...(need.variable === need.name ? [] : [`  ${need.variable} for`]),
    describeNeed(need),
  ]);
  return [
    ...(lines.length > 0 ? ["", "Set in the environment of whatever starts toolpipe:", ...lines] : []),
    ...withheld.map((name) => `  ! The value of ${toLine(name)} was not written, since it is a secret.`),
  ];
}
