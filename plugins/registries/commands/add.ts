import { resolve } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import type { RegistryEntry } from "../../../core/services/registries.ts";
import { makeChanges } from "../../lib/config-file/journal.ts";
import { type OwnConfig, ownChange, ownConfigFile, readOwnConfig } from "../../lib/config-file/own-config.ts";
import { thisMachine } from "../../lib/server-entry/machine.ts";
import { coloured, output, usageError } from "../../lib/terminal/output.ts";
import { waitingLine } from "../../lib/terminal/servers.ts";
import { type InstallOptions, type InstallPlan, planInstall, refuseDeleted, wayOf } from "../install.ts";
import { shownRegistry } from "../options.ts";
import { askFor, confirmed } from "./ask.ts";
import { givenBy } from "./needs.ts";
import { findEntry, registryArgs, withRegistries } from "./registries.ts";
import { describeAdded, describePlan } from "./report.ts";

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
export const add: Command = defineCommand({
  args,
  async run(given, context) {
    for (const name of ["as", "use", "config"] as const)
      if (given[name] === "") throw usageError(`The option --${name} needs a value.`);
    const options: InstallOptions = { id: given.as, use: given.use, given: givenBy(context.typed) };
    const own = await readOwnConfig(resolve(given.config ?? ownConfigFile(thisMachine())));
    const { entry, note } = await withRegistries(context, given, (registries) =>
      findEntry(registries, given.entry, given.version),
    );
    refuseDeleted(entry);
    const isAsked = !given.yes && !given.json && process.stdin.isTTY === true;
    const plan = await planFor(entry, options, isAsked);
    checkFree(own, plan.id);
    if (note !== undefined) process.stderr.write(`! ${note}\n`);
    const report = reportOn(entry, plan, own);
    if (isAsked) process.stdout.write(coloured(describePlan(entry, plan, own.file)));
    if (given.yes || (isAsked && (await confirmed("Add this? [y/N] ")))) {
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
async function planFor(
  entry: RegistryEntry,
  options: InstallOptions,
  isAsked: boolean,
): Promise<InstallPlan> {
  const makePlan = await planner(entry, options.use);
  const plan = makePlan(options);
  const given = isAsked ? await askFor(plan.toSet, options.given) : undefined;
  return given ? makePlan({ ...options, given }) : plan;
}

async function planner(
  entry: RegistryEntry,
  use: string | undefined,
): Promise<(options: InstallOptions) => InstallPlan> {
  if (wayOf(entry, use) !== "mcpb") return (options) => planInstall(entry, options);
  const [{ fetchBundle }, { planBundle }] = await Promise.all([
    import("../bundle.ts"),
    import("../bundle-definition.ts"),
  ]);
  const done = waitingLine(`Fetching the bundle of ${entry.name} …`);
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
  const change = await ownChange(own, { [id]: definition });
  if (change) await makeChanges([change]);
}

function reportOn(entry: RegistryEntry, plan: InstallPlan, { file }: OwnConfig): object {
  return {
    name: entry.name,
    version: entry.version,
    status: entry.status,
    registry: shownRegistry(entry.registry),
    id: plan.id,
    way: plan.way,
    file,
    definition: plan.definition,
    toSet: plan.toSet.map(({ variable, name, isSecret }) => ({ variable, name, isSecret })),
    withheld: plan.withheld,
  };
}
