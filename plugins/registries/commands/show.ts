import { GatewayError } from "../../../core/mod.ts";
import { type Command, defineCommand } from "../../../core/services/command.ts";
import type { RegistryEntry } from "../../../core/services/registries.ts";
import { normalizeEntry } from "../../lib/server-entry/normalize.ts";
import { listUses } from "../../lib/server-entry/server-json.ts";
import { summarizeDefinition } from "../../lib/terminal/definition.ts";
import { output, quoteForShell } from "../../lib/terminal/output.ts";
import { toLine } from "../entry.ts";
import { defaultId, type InstallPlan, planInstall } from "../install.ts";
import { formatRegistry } from "../options.ts";
import { describeNeed } from "./needs.ts";
import { findEntry, formatStatus, openRegistries, registryArgs } from "./registries.ts";

/** Shows one server of a registry. */
export const command: Command = defineCommand({
  args: {
    entry: { type: "positional", required: true, description: "The server, as io.github.owner/name" },
    version: { type: "string", description: "An exact version; the latest by default", valueHint: "V" },
    json: { type: "boolean", description: "Print JSON" },
    ...registryArgs,
  },
  async run(given, context) {
    const { entry, note, versions } = await openRegistries(context, given, async (registries) => ({
      ...(await findEntry(registries, given.entry, given.version)),
      // A failure to list versions costs a line only.
      versions: await registries.client.versions(given.entry).catch(() => []),
    }));
    const ways = listUses(entry.server).map((way) => ({ way, ...tryPlan(entry, way) }));
    output(given.json, toJson(entry, versions, ways), () => describe(entry, versions, ways));
    if (note !== undefined && !given.json) process.stderr.write(`! ${note}\n`);
  },
});

interface Way {
  readonly way: string;
  readonly plan?: InstallPlan;
  readonly reason?: string;
}

function tryPlan(entry: RegistryEntry, way: string): Omit<Way, "way"> {
  if (way === "mcpb") return {};
  try {
    // A deleted version can still be shown.
    return { plan: planInstall({ ...entry, status: "active" }, { use: way }) };
  } catch (thrown) {
    if (!GatewayError.is(thrown)) throw thrown;
    return { reason: thrown.message };
  }
}

function toJson(entry: RegistryEntry, versions: readonly RegistryEntry[], ways: readonly Way[]): object {
  const { registry, server, ...facts } = entry;
  return {
    ...facts,
    registry: formatRegistry(registry),
    versions: versions.map(({ version, status }) => ({ version, status })),
    ways: ways.map(({ way, plan, reason }) => ({
      way,
      ...(plan && { definition: plan.definition, needs: plan.needs }),
      ...(reason !== undefined && { reason }),
    })),
    server,
  };
}

const MOST_VERSIONS = 10;

function describe(entry: RegistryEntry, versions: readonly RegistryEntry[], ways: readonly Way[]): string {
  const { name, version, title, description, publishedAt, repository, websiteUrl, registry } = entry;
  const shown = versions
    .slice(0, MOST_VERSIONS)
    .map((one) => (one.status === "active" ? one.version : `${one.version} (${one.status})`));
  const more = versions.length > MOST_VERSIONS ? `, and ${versions.length - MOST_VERSIONS} more` : "";
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["Status", formatStatus(entry)],
    ["Published", publishedAt?.slice(0, 10)],
    ["Repository", repository],
    ["Website", websiteUrl],
    ["Registry", formatRegistry(registry)],
    ["Versions", shown.length > 0 ? `${shown.join(", ")}${more}` : undefined],
  ];
  const needs = ways.flatMap(({ plan }) => plan?.needs ?? []);
  const distinct = [...new Map(needs.map((need) => [`${need.kind} ${need.name}`, need])).values()];
  return `${[
    `${entry.status === "active" ? "✓" : "✗"} ${name} ${version}${title ? ` - ${title}` : ""}`,
    ...(description ? [`  ${description}`] : []),
    ...rows.filter(([, value]) => value).map(([what, value]) => `  ${what}: ${value}`),
    ...(ways.length > 0 ? ["", "It can be used by:", ...ways.map(describeWay)] : []),
    ...(distinct.length > 0 ? ["", "It wants to know:", ...distinct.map(describeNeed)] : []),
    "",
    ways.length === 0
      ? "It has neither a package that can be started here nor a remote."
      : entry.status === "deleted"
        ? "It was deleted, and cannot be added."
        : `Add it as "${defaultId(name)}": toolpipe registry add ${quoteForShell(name)}`,
  ].join("\n")}\n`;
}

function describeWay({ way, plan, reason }: Way): string {
  if (!plan) return `  ${way}: ${reason ?? "a bundle that is downloaded and checked"}`;
  const raw = { name: plan.id, entry: plan.definition };
  const { config } = normalizeEntry(raw, { source: "inline", scope: "config" });
  const { command: line, url } = config ? summarizeDefinition(config) : {};
  return `  ${way}: ${toLine(line ?? url ?? "")}`;
}
