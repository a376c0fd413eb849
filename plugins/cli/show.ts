import { type Gateway, isJsonObject, type LoadedConfig } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import type { CollectedFile } from "../../core/services/sources.ts";
import { output, shownLine, shownPath } from "../lib/terminal/output.ts";
import { askServers, isAtRest, serversOf, statusesOf, unknownServers } from "../lib/terminal/servers.ts";
import type { ToolRule } from "../rules/mod.ts";
import { switchedOff } from "./anygpt-config.ts";
import { openGateway } from "./context.ts";
import { describeFile } from "./sources.ts";

/** Shows the config in use, and what came of it. */
export const show: Command = defineCommand({
  args: { json: { type: "boolean", description: "Print JSON" }, ...configArgs },
  async run(given) {
    await openGateway(given, async (gateway, config) => {
      await askServers(gateway, unknownServers(gateway));
      const shown = await factsOf(gateway, config);
      output(given.json, shown, () => describe(shown));
    });
  },
});

interface Facts {
  readonly enabled: boolean;
  readonly file: string | null;
  readonly preset: string;
  readonly plugins: readonly string[];
  readonly cache: { readonly enabled: boolean; readonly ttl?: number };
  readonly sources: readonly CollectedFile[];
  readonly toolRules: readonly ToolRule[];
  readonly servers: { readonly configured: number; readonly connected: number; readonly atRest: number };
  readonly tools: { readonly total: number; readonly enabled: number };
}

async function factsOf(gateway: Gateway, { configFile, preset, options = {} }: LoadedConfig): Promise<Facts> {
  const rows = serversOf(gateway);
  const ttlMs = gateway.services.cache?.ttlMs;
  const { files = [] } = (await gateway.services.sources?.collect()) ?? {};
  return {
    enabled: optionOf(options["sources"], "mcpServers") !== switchedOff,
    file: configFile ?? null,
    preset: preset.name,
    plugins: gateway.plugins,
    cache: ttlMs === undefined ? { enabled: false } : { enabled: true, ttl: ttlMs / 1000 },
    // Of the many places where a client may keep its servers, only those that a config names are missed.
    sources: files.filter(({ status, scope }) => status !== "missing" || scope === "config"),
    toolRules: (optionOf(options["rules"], "toolRules") ?? []) as readonly ToolRule[],
    servers: {
      configured: rows.length,
      connected: rows.filter(({ status }) => status === "connected").length,
      atRest: statusesOf(gateway).filter(isAtRest).length,
    },
    tools: {
      total: rows.reduce((sum, { toolCount }) => sum + toolCount, 0),
      enabled: rows.reduce((sum, { enabledCount }) => sum + enabledCount, 0),
    },
  };
}

function optionOf(options: object | undefined, name: string): unknown {
  return isJsonObject(options) ? options[name] : undefined;
}

function describe(facts: Facts): string {
  const { enabled, file, preset, plugins, cache, sources, toolRules, servers, tools } = facts;
  const { configured, connected, atRest } = servers;
  const more = atRest > 0 ? ` (${atRest} ${atRest === 1 ? "connects" : "connect"} when used)` : "";
  return `MCP Discovery Configuration:

Status: ${enabled ? "Enabled" : "Disabled"}
Cache: ${cache.enabled ? `Enabled (TTL: ${cache.ttl}s)` : "Disabled"}
File: ${file === null ? "none (the defaults apply)" : shownPath(file)}
Preset: ${preset}
Plugins: ${plugins.join(", ")}

${section(
  "Sources",
  sources.map((found) => describeFile(found)),
)}

${section("Tool Rules", toolRules.map(describeRule))}

Servers: ${configured} configured, ${connected} connected${more}
Tools: ${tools.total} total, ${tools.enabled} enabled
`;
}

function section(title: string, lines: readonly string[]): string {
  return [`${title} (${lines.length})${lines.length > 0 ? ":" : ""}`, ...lines].join("\n");
}

function describeRule({ pattern, server, enabled, tags = [] }: ToolRule, index: number): string {
  const does = [
    ...(enabled === undefined ? [] : [enabled ? "enabled" : "disabled"]),
    ...(tags.length > 0 ? [`tags: [${tags.join(", ")}]`] : []),
  ];
  const where = server === undefined ? "" : `${server}: `;
  return `  ${index + 1}. ${shownLine(`${where}${pattern.join(", ")} → ${does.join(", ") || "nothing"}`)}`;
}
