import type { Gateway } from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import {
  askableServers,
  askServers,
  CHECK_MS,
  explainNoServers,
  failedServers,
  unknownServers,
} from "../lib/servers.ts";
import { formatCount, formatPath, output } from "../lib/terminal/output.ts";
import { isSwitchedOff } from "./config-files.ts";
import { openGateway } from "./context.ts";
import { listRuleWarnings } from "./rule-warnings.ts";
import { listShownServers, type ShownServer } from "./running-status.ts";

/** Lists the servers with their status. */
export const command = defineCommand({
  args: {
    status: {
      type: "boolean",
      description: "Connect to every server, for up to 5 s each, and show its status with the reason",
    },
    tools: { type: "boolean", description: "Show how many tools are enabled" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    await openGateway(given, async (gateway, config) => {
      const asked = given.status
        ? askableServers(gateway)
        : [...unknownServers(gateway), ...failedServers(gateway)];
      await askServers(gateway, asked, { limitMs: CHECK_MS });
      const shown = await listShownServers(gateway);
      const servers = shown.map(({ isIdle: _, ...row }) => row);
      output(given.json, { servers }, () =>
        isSwitchedOff(config) && shown.length === 0
          ? `Discovery is switched off: "enabled" is false in ${formatPath(String(gateway.configFile))}.\n`
          : describe(gateway, shown, given),
      );
      const notes = [...(await describeMissing(gateway)), ...(await listRuleWarnings(gateway))];
      for (const note of notes) process.stderr.write(`! ${note}\n`);
    });
  },
});

function describe(
  gateway: Gateway,
  rows: readonly ShownServer[],
  show: { readonly status?: boolean | undefined; readonly tools?: boolean | undefined },
): string {
  if (rows.length === 0) return explainNoServers(gateway);
  const blocks = rows.map((row) => {
    const isUsable = row.status === "connected" || row.isIdle;
    const enabled = show.tools ? `, ${row.enabledCount} enabled` : "";
    return [
      `${isUsable ? "✓" : "✗"} ${row.name} (${formatCount(row.toolCount, "tool")}${enabled})`,
      ...(row.description ? [`  ${row.description}`] : []),
      `  Status: ${capitalize(row.status)}`,
      ...(show.status || row.status !== "connected" ? [`  ${row.reason}`] : []),
    ].join("\n");
  });
  return `MCP Servers (${rows.length} configured):\n\n${blocks.join("\n\n")}\n`;
}

function capitalize(status: string): string {
  return `${status.charAt(0).toUpperCase()}${status.slice(1)}`.replace("-", " ");
}

/** Describes files and definitions that cannot be used: their servers are missing from the list. */
async function describeMissing({ services }: Gateway): Promise<string[]> {
  const { files = [], warnings = [] } = (await services.sources?.collect()) ?? {};
  const broken = files.flatMap(({ status, source, reason }) =>
    status === "broken" ? [`The servers of ${source} cannot be read. ${reason}`] : [],
  );
  const invalid = warnings.filter(({ code }) => code === "ENTRY_INVALID");
  return [...broken, ...invalid.map(({ message }) => message)];
}
