import * as v from "valibot";
import {
  createDisabledError,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  type Tool,
} from "../../core/mod.ts";
import { formatRuleReport, type RuleReport } from "../../core/services/rules.ts";
import { option } from "../lib/options.ts";
import { compileRules, toolRule, type Verdict } from "./rules.ts";

export { compilePattern, type Pattern } from "./pattern.ts";
export {
  type Conflict,
  compileRules,
  compileRulesWith,
  type RuleSet,
  type ToolRule,
  type Verdict,
} from "./rules.ts";

export const RULE_DOUBTFUL: ErrorKind = defineError("RULE_DOUBTFUL", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "A rule may not do what it was written for.",
});

const options = v.strictObject({
  toolRules: option(
    v.union([
      v.array(toolRule),
      v.strictObject({
        rules: option(v.array(toolRule), "The rules.", []),
        conflict: option(
          v.picklist(["first-match", "deny-wins"]),
          "What counts where rules disagree about a tool: the first that matches, or one that disables.",
          "first-match",
        ),
      }),
    ]),
    "Rules that enable, disable and tag tools, as a list or with `conflict`. The first rule that matches decides whether a tool is enabled; once any rule enables tools, all others are disabled.",
    [],
  ),
});

/** Time in which changes of the catalog are collected before the rules are compared with it. */
const REVIEW_DELAY_MS = 50;

/** Options of the plugin `rules`. */
export type RulesOptions = v.InferInput<typeof options>;

/** Enables, disables and tags tools by name. The gateway's own tools are not subject to rules. */
export const rules = definePlugin({
  name: "rules",
  uses: ["servers?"],
  provides: ["rules"],
  keys: ["toolRules"],
  options,
  errors: { RULE_DOUBTFUL },
  async setup(gateway, { toolRules }) {
    const { catalog } = gateway;
    const { rules: list, conflict } = Array.isArray(toolRules)
      ? { rules: toolRules, conflict: undefined }
      : toolRules;
    const ruleSet = await compileRules(list, conflict);
    const { decide } = ruleSet;
    // Keyed by the tool itself, since a hook may bind a tool to a call that never came through the catalog.
    const verdicts = new WeakMap<Tool, Verdict>();
    const judge = (tool: Tool): Verdict => {
      const known = verdicts.get(tool);
      if (known) return known;
      const verdict = decide(tool.server, tool.name);
      verdicts.set(tool, verdict);
      return verdict;
    };

    /** Imported on first use: a start without rules needs neither the diagnosis nor the tables of verbs. */
    const diagnose = async (): Promise<readonly RuleReport[]> => {
      const [{ diagnoseRules }, { listKnownTools }] = await Promise.all([
        import("./diagnose.ts"),
        import("./known-tools.ts"),
      ]);
      return await diagnoseRules(ruleSet, listKnownTools(gateway));
    };
    const reported = new Set<string>();
    const report = (found: RuleReport): void => {
      const { rule, fault } = found;
      if (reported.has(`${rule} ${fault}`)) return;
      reported.add(`${rule} ${fault}`);
      gateway.report(new GatewayError(RULE_DOUBTFUL, formatRuleReport(found), { data: { rule, fault } }));
    };

    gateway.provide("rules", {
      diagnose,
      allows: (server, tool) => decide(server, tool).enabled,
      explain(server, tool) {
        const id = `"${server}:${tool}"`;
        if (catalog.server(server)?.builtin)
          return `${id} belongs to the gateway itself: no rule applies to it.`;
        const { enabled, because, tags } = decide(server, tool);
        const state = `The rules leave ${id} ${enabled ? "enabled" : "disabled"}. ${because}`;
        return tags.length === 0 ? state : `${state} They tag it ${tags.join(", ")}.`;
      },
    });

    let reviewing: Promise<void> | undefined;
    /** Reports faults of rules. Those that only tools show are found when their servers have been listed. */
    const review = (): Promise<void> => {
      reviewing ??= (async () => {
        // Servers that are listed one after another are judged together, and after they are in the catalog.
        await new Promise((resolve) => setTimeout(resolve, REVIEW_DELAY_MS).unref());
        reviewing = undefined;
        for (const found of await diagnose()) report(found);
      })();
      return reviewing;
    };

    return {
      start: () => void (list.length > 0 && review()),
      "catalog:change": () => void (list.length > 0 && review()),
      "tool:discover"(tool) {
        if (tool.builtin) return;
        const { enabled, tags, because } = judge(tool);
        if (tags.length > 0) tool.tags = [...new Set([...tool.tags, ...tags])];
        if (enabled || !tool.enabled) return;
        tool.enabled = false;
        tool.disabledBecause = because;
      },
      policy({ tool }) {
        if (!tool || tool.builtin) return;
        // Core refuses tools that were disabled on their way into the catalog; a hook may bind one that is not in it.
        const { enabled, because } = judge(tool);
        if (!enabled) throw createDisabledError({ id: tool.id, disabledBecause: because });
      },
    };
  },
});
