import type { BuiltinOptions } from "../../core/config-types.ts";
import { type Gateway, isJsonObject, type LoadedConfig } from "../../core/mod.ts";
import { formatRuleReport } from "../../core/services/rules.ts";
import { toTerminalLine } from "../lib/terminal/output.ts";

type ToolRules = NonNullable<NonNullable<BuiltinOptions["rules"]>["toolRules"]>;

/** A rule as a config writes it. */
export type WrittenRule = Extract<ToolRules, readonly unknown[]>[number];

/** Reads the rules of a config, which may be a list or an object with one. */
export function readRules({ settings }: Pick<LoadedConfig, "settings">): readonly WrittenRule[] {
  const given = isJsonObject(settings?.["rules"]) ? settings["rules"]["toolRules"] : undefined;
  const list = isJsonObject(given) ? given["rules"] : given;
  return Array.isArray(list) ? (list as WrittenRule[]) : [];
}

/** Checks for rules. */
export function hasRules(config: LoadedConfig): boolean {
  return readRules(config).length > 0;
}

/** Lists the rules that may not do what they were written for. */
export async function listRuleWarnings(gateway: Gateway): Promise<string[]> {
  const reports = (await gateway.services.rules?.diagnose()) ?? [];
  return reports.map((report) => toTerminalLine(formatRuleReport(report)));
}
