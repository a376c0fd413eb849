import type { Gateway, LoadedConfig } from "../../../core/mod.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { askServers, CHECK_MS, unknownServers } from "../../lib/servers.ts";
import { formatCount, formatPath, output, toTerminalLine } from "../../lib/terminal/output.ts";
import { isSwitchedOff } from "../config-files.ts";
import { openGateway } from "../context.ts";
import { listRuleWarnings, readRules, type WrittenRule } from "../rule-warnings.ts";
import { listShownServers } from "../running-status.ts";
import { describeFile } from "./sources.ts";

/** Shows the config in use with its servers and tools. */
export const command = defineCommand({
  args: { json: { type: "boolean", description: "Print JSON" }, ...configArgs },
  async run(given) {
    await openGateway(given, async (gateway, config) => {
      await askServers(gateway, unknownServers(gateway), { limitMs: CHECK_MS });
      const shown = await collectFacts(gateway, config);
      output(given.json, shown, () => describe(shown));
    });
  },
});

type ConfigFacts = Awaited<ReturnType<typeof collectFacts>>;

async function collectFacts(gateway: Gateway, config: LoadedConfig) {
  const { configFile, preset } = config;
  const rows = await listShownServers(gateway);
  const ttlMs = gateway.services.cache?.ttlMs;
  const { files = [] } = (await gateway.services.sources?.collect()) ?? {};
  return {
    enabled: !isSwitchedOff(config),
    file: configFile ?? null,
    preset: preset.name,
    plugins: gateway.plugins,
    cache: ttlMs === undefined ? { enabled: false } : { enabled: true, ttl: ttlMs / 1000 },
    // Clients have many possible files; only those that the config names are reported as missing.
    sources: files.filter(({ status, scope }) => status !== "missing" || scope === "config"),
    toolRules: readRules(config),
    warnings: await listRuleWarnings(gateway),
    servers: {
      configured: rows.length,
      connected: rows.filter(({ status }) => status === "connected").length,
      atRest: rows.filter(({ isIdle }) => isIdle).length,
    },
    tools: {
      total: rows.reduce((sum, { toolCount }) => sum + toolCount, 0),
      enabled: rows.reduce((sum, { enabledCount }) => sum + enabledCount, 0),
    },
  };
}

function describe(facts: ConfigFacts): string {
  const { enabled, file, preset, plugins, cache, sources, toolRules, warnings, servers, tools } = facts;
  const { configured, connected, atRest } = servers;
  const waiting = atRest > 0 ? `${formatCount(atRest, "server")}, connected when used` : "";
  return `MCP Discovery Configuration:

Status: ${enabled ? "Enabled" : "Disabled"}
Cache: ${cache.enabled ? `Enabled (TTL: ${cache.ttl}s)` : "Disabled"}

${formatSection(
  "Sources",
  sources.map((found) => describeFile(found)),
)}

${formatSection("Tool Rules", toolRules.map(describeRule))}

Servers: ${configured} configured, ${connected} connected
Tools: ${tools.total} total, ${tools.enabled} enabled

${waiting === "" ? "" : `At rest: ${waiting}\n`}File: ${file === null ? "none (the defaults apply)" : formatPath(file)}
Preset: ${preset}
Plugins: ${plugins.join(", ")}
${warnings.map((warning) => `! ${warning}\n`).join("")}`;
}

function formatSection(title: string, lines: readonly string[]): string {
  return [`${title} (${lines.length})${lines.length > 0 ? ":" : ""}`, ...lines].join("\n");
}

function describeRule({ pattern, server, enabled, tags = [] }: WrittenRule, index: number): string {
  const does = [
    ...(enabled === undefined ? [] : [enabled ? "enabled" : "disabled"]),
    ...(tags.length > 0 ? [`tags: [${tags.join(", ")}]`] : []),
  ];
  const where = server === undefined ? "" : `${server}: `;
  return `  ${index + 1}. ${toTerminalLine(`${where}${pattern.join(", ")} → ${does.join(", ") || "nothing"}`)}`;
}
