import type { RegistryEntry } from "../registry/entry.ts";
import { plain } from "../registry/entry.ts";
import type { InstallPlan } from "../registry/install.ts";
import { shownRegistry } from "../registry/options.ts";
import { normalise } from "../sources/normalise.ts";
import { packagesOf } from "../sources/server-json.ts";
import { describeDefinition } from "./_definition.ts";
import { shownStatus } from "./_registry.ts";
import { describeNeed } from "./_registry-needs.ts";
import { shownPath } from "./_shown.ts";

/** What would be added, for a person to decide. */
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
    ...(config ? [describeDefinition(config)] : []),
    ...(typeof base === "string" ? [`  Published at: ${plain(base, 200)}`] : []),
    ...wants(plan),
    "",
  ].join("\n")}\n`;
}

/** What was added, and what a person does next. */
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
