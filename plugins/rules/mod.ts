import * as v from "valibot";
import {
  type Catalog,
  defineError,
  definePlugin,
  type ErrorKind,
  GatewayError,
  nearest,
  type PluginFactory,
  type Tool,
} from "../../core/mod.ts";
import type {} from "../relay/offer.ts";
import { compileRules, type RuleReport, reportOn, type ToolRule, type Verdict } from "./rules.ts";

export { globMatcher, type Matcher } from "./glob.ts";
export { compilePattern, type Pattern } from "./pattern.ts";
export { compileRules, type RuleReport, type RuleSet, type ToolRule, type Verdict } from "./rules.ts";

/** A tool that the rules, or another plugin, keep from being used was called. */
export const TOOL_DISABLED: ErrorKind = defineError("TOOL_DISABLED", { spec: "TOOL_DISABLED", exit: 4 });

/** A rule may not do what it was written for. */
export const RULE_DOUBTFUL: ErrorKind = defineError("RULE_DOUBTFUL", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});

/** What can be asked of the rules. */
export interface RulesService {
  /** The rules that match neither a tool in the catalog as it is now nor another request that is a call. */
  unmatched(): RuleReport[];
  /** The rules that, from their text alone, do not do what they seem to. */
  doubts(): readonly RuleReport[];
  /** Whether the rules leave a tool enabled; it need not be in the catalog. */
  allows(server: string, tool: string): boolean;
  /** Why a tool is enabled or disabled by the rules, in sentences; it need not be in the catalog. */
  explain(server: string, tool: string): string;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `rules`. */
    rules?: RulesService;
  }
}

/** The options of {@link rules}. */
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

    gateway.services.rules = {
      doubts: () => doubts,
      unmatched() {
        const known = [...catalog.tools(), ...(gateway.services.relay?.requests() ?? [])];
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
    };

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
        const verdict = judge(tool);
        if (tool.enabled && verdict.enabled) return;
        const because = tool.enabled ? verdict.because : (tool.disabledBecause ?? "");
        throw new GatewayError(TOOL_DISABLED, `"${tool.id}" is disabled. ${because}`.trimEnd(), {
          data: { tool: tool.id },
        });
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
