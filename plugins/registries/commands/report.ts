import type { RegistryEntry } from "../../../core/services/registries.ts";
import { normalise } from "../../lib/server-entry/normalise.ts";
import { packagesOf } from "../../lib/server-entry/server-json.ts";
import { describeDefinition, shownDefinition } from "../../lib/terminal/definition.ts";
import { shownPath } from "../../lib/terminal/output.ts";
import { plain } from "../entry.ts";
import type { InstallPlan } from "../install.ts";
import { shownRegistry } from "../options.ts";
import { describeNeed } from "./needs.ts";
import { shownStatus } from "./registries.ts";

/** Formats a plan, for the user to decide on. */
export function describePlan(entry: RegistryEntry, plan: InstallPlan, file: string): string {
  const status = shownStatus(entry);
  const base = packagesOf(entry.server, plan.way)[0]?.["registryBaseUrl"];
  const { config } = normalise(
    { name: plan.id, entry: plan.definition },
    { source: "inline", scope: "config" },
  );
  return `${[
    `${entry.name} ${entry.version} of ${shownRegistry(entry.registry)}`,
    ...(entry.description ? [`  ${entry.description}`] : []),
    ...(status ? [`  ! It is ${status}`] : []),
    "",
    `It goes to ${shownPath(file)} as:`,
    "",
    ...(config ? [describeDefinition(shownDefinition(config))] : []),
    ...(typeof base === "string" ? [`  Published at: ${plain(base, 200)}`] : []),
    ...wants(plan),
    "",
  ].join("\n")}\n`;
}

/** Formats what was added, and what to do next. */
export function describeAdded(entry: RegistryEntry, plan: InstallPlan, file: string): string {
  const { id, way } = plan;
  const config = `--config ${quoted(shownPath(file))}`;
  return `${[
    `✓ Added ${entry.name} ${entry.version} as "${id}" to ${shownPath(file)}`,
    ...wants(plan),
    "",
    "Next:",
    `  toolpipe tools ${quoted(id)} ${config}    shows what it offers`,
    ...(way === "remote" ? [`  toolpipe login ${quoted(id)} ${config}    if it asks for a login`] : []),
    "  toolpipe init    puts it behind your clients, if that is not done yet; --undo takes all of it back",
  ].join("\n")}\n`;
}

function wants({ toSet, withheld }: InstallPlan): readonly string[] {
  const lines = toSet.flatMap((need) => [
    ...(need.variable === need.name ? [] : [`  ${need.variable} for`]),
    describeNeed(need),
  ]);
  return [
    ...(lines.length > 0 ? ["", "Set in the environment of whatever starts toolpipe:", ...lines] : []),
    ...withheld.map((name) => `  ! The value of ${plain(name)} was not written, since it is a secret.`),
  ];
}

function quoted(text: string): string {
  return /^[\w@%+=:,./~\\-]+$/.test(text) ? text : JSON.stringify(text);
}
