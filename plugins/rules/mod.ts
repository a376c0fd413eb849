import * as v from "valibot";
import {
  type Catalog,
  createDisabledError,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  isJsonObject,
  nearest,
  type Tool,
} from "../../core/mod.ts";
import type { ServerStatus, UpstreamMethod } from "../../core/services/servers.ts";
import { option } from "../lib/options.ts";
import { compileRules, createRuleReport, type ToolRule, toolRule, type Verdict } from "./rules.ts";

export { compilePattern, type Pattern } from "./pattern.ts";
export { compileRules, type ToolRule } from "./rules.ts";

export const RULE_DOUBTFUL: ErrorKind = defineError("RULE_DOUBTFUL", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "A rule may not do what it was written for.",
});

const options = v.strictObject({
  toolRules: option(
    v.array(toolRule),
    "Rules that enable, disable and tag tools. The first rule that matches decides whether a tool is enabled; once any rule enables tools, all others are disabled.",
    [],
  ),
});

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
    const { decide, matching, doubts } = await compileRules(toolRules);
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
      doubts: () => doubts,
      unmatched() {
        const known = [...catalog.tools(), ...listRequests(gateway.services.servers?.statuses() ?? [])];
        const matched = new Set(known.flatMap(({ server, name }) => matching(server, name)));
        return toolRules.flatMap((rule, index) =>
          matched.has(index + 1) ? [] : [createRuleReport(rule, index + 1, explainUnmatched(rule, catalog))],
        );
      },
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

    return {
      ready() {
        for (const { rule, reason } of doubts) {
          gateway.report(new GatewayError(RULE_DOUBTFUL, `Rule ${rule}: ${reason}`, { data: { rule } }));
        }
      },
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

function explainUnmatched({ server }: ToolRule, catalog: Catalog): string {
  if (server === undefined || catalog.tools(server).length > 0) return "It matches no tool.";
  if (catalog.server(server)) return `The server "${server}" has no tools.`;
  const hint = nearest(
    server,
    catalog.servers().map(({ id }) => id),
  );
  return `There is no server "${server}"${hint ? `; did you mean "${hint}"?` : "."}`;
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
