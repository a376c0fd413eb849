import * as v from "valibot";
import {
  type Catalog,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  isJsonObject,
  nearest,
  type PluginFactory,
  type Tool,
  toolDisabled,
} from "../../core/mod.ts";
import type { ServerStatus, UpstreamMethod } from "../../core/services/servers.ts";
import { compileRules, reportOn, type ToolRule, type Verdict } from "./rules.ts";

export type { RuleReport, Rules } from "../../core/services/rules.ts";
export { globMatcher, type Matcher } from "../lib/glob.ts";
export { compilePattern, type Pattern } from "../lib/pattern.ts";
export { compileRules, type RuleSet, type ToolRule, type Verdict } from "./rules.ts";

/** A rule may not do what it was written for. */
export const RULE_DOUBTFUL: ErrorKind = defineError("RULE_DOUBTFUL", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});

/** Options of the plugin `rules`. */
export interface RulesOptions {
  /** The first rule that matches decides whether a tool is enabled; once any rule enables tools, all others are disabled. */
  readonly toolRules?: readonly ToolRule[];
}

const someText = v.pipe(v.string(), v.minLength(1, "a text that is not empty"));
const options = v.strictObject({
  toolRules: v.optional(
    v.array(
      v.strictObject({
        pattern: v.pipe(v.array(someText), v.minLength(1, "at least one pattern")),
        server: v.optional(someText),
        enabled: v.optional(v.boolean()),
        tags: v.optional(v.array(someText)),
      }),
    ),
    [],
  ),
});

/** Enables, disables and tags tools by name. The gateway's own tools are not subject to rules. */
export const rules: PluginFactory<"rules", RulesOptions, Required<RulesOptions>> = definePlugin({
  name: "rules",
  uses: ["servers?"],
  provides: ["rules"],
  keys: ["toolRules"],
  options: options as v.GenericSchema<RulesOptions, Required<RulesOptions>>,
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
        const known = [...catalog.tools(), ...requestsTo(gateway.services.servers?.statuses() ?? [])];
        const matched = new Set(known.flatMap(({ server, name }) => matching(server, name)));
        return toolRules.flatMap((rule, index) =>
          matched.has(index + 1) ? [] : [reportOn(rule, index + 1, whyUnmatched(rule, catalog))],
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
        // Core refuses what was disabled on its way into the catalog; a hook may bind a tool that never came that way.
        const { enabled, because } = judge(tool);
        if (!enabled) throw toolDisabled({ id: tool.id, disabledBecause: because });
      },
    };
  },
});

function whyUnmatched({ server }: ToolRule, catalog: Catalog): string {
  if (server === undefined || catalog.tools(server).length > 0) return "It matches no tool.";
  if (catalog.server(server)) return `The server "${server}" has no tools.`;
  const hint = nearest(
    server,
    catalog.servers().map(({ id }) => id),
  );
  return `There is no server "${server}"${hint ? `; did you mean "${hint}"?` : "."}`;
}

/** What servers can be asked for besides their tools, by what they said that they can do. */
function requestsTo(statuses: readonly ServerStatus[]): { server: string; name: UpstreamMethod }[] {
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
