import * as v from "valibot";
import {
  createDisabledError,
  defineError,
  definePlugin,
  type ErrorKind,
  type Gateway,
  GatewayError,
  isJsonObject,
  type Tool,
} from "../../core/mod.ts";
import { formatRuleReport } from "../../core/services/rules.ts";
import type { ServerStatus, UpstreamMethod } from "../../core/services/servers.ts";
import { option } from "../lib/options.ts";
import { inferPolicy } from "../lib/risk.ts";
import { diagnoseRules, type KnownTools } from "./diagnose.ts";
import { compileRules, toolRule, type Verdict } from "./rules.ts";

export { compilePattern, type Pattern } from "./pattern.ts";
export { type Conflict, compileRules, type RuleSet, type ToolRule, type Verdict } from "./rules.ts";

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

    gateway.provide("rules", {
      diagnose: () => diagnoseRules(ruleSet, listKnownTools(gateway)),
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

    const reported = new Set<string>();
    let reviewing: Promise<void> | undefined;
    /** Reports each fault once. Faults that only tools show are found when their servers have been listed. */
    const review = (): Promise<void> => {
      reviewing ??= (async () => {
        // Servers that are listed one after another are judged together, and after they are in the catalog.
        await new Promise((resolve) => setTimeout(resolve, REVIEW_DELAY_MS).unref());
        reviewing = undefined;
        for (const found of await diagnoseRules(ruleSet, listKnownTools(gateway))) {
          const key = `${found.rule} ${found.fault}`;
          if (reported.has(key)) continue;
          reported.add(key);
          gateway.report(
            new GatewayError(RULE_DOUBTFUL, formatRuleReport(found), {
              data: { rule: found.rule, fault: found.fault },
            }),
          );
        }
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

/** Lists the tools, and the requests besides tool calls, that rules are for. */
function listKnownTools({ catalog, services }: Gateway): KnownTools {
  const statuses = services.servers?.statuses() ?? [];
  const own = catalog.tools().filter(({ builtin }) => !builtin);
  return {
    tools: [...own, ...listRequests(statuses)],
    servers: catalog.servers().map(({ id }) => id),
    unknown: new Set(
      statuses.flatMap(({ name, listedAt, config }) =>
        listedAt === undefined && !config.disabled ? [name] : [],
      ),
    ),
    isDestructive: (tool) => "id" in tool && inferPolicy(tool as Tool).riskLevel === "destructive",
  };
}

/** Lists the requests besides tool calls that servers take, by their declared capabilities. */
function listRequests(statuses: readonly ServerStatus[]): { server: string; name: UpstreamMethod }[] {
  return statuses.flatMap(({ name: server, info }) =>
    requests.flatMap(([capability, name]) =>
      isJsonObject(info?.capabilities?.[capability]) ? [{ server, name }] : [],
    ),
  );
}

const requests: readonly (readonly [capability: string, request: UpstreamMethod])[] = [
  ["resources", "resources/read"],
  ["prompts", "prompts/get"],
  ["completions", "completion/complete"],
];
