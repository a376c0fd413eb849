import type { Gateway } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { counted, output } from "../lib/terminal/output.ts";
import {
  askServers,
  isAtRest,
  noServers,
  type ServerRow,
  serversOf,
  unknownServers,
} from "../lib/terminal/servers.ts";
import { openGateway } from "./context.ts";

/** Lists the servers and how each stands. */
export const list: Command = defineCommand({
  args: {
    status: { type: "boolean", description: "Say of every server why it has its status" },
    tools: { type: "boolean", description: "Show how many tools are enabled" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    await openGateway(given, async (gateway) => {
      await askServers(gateway, unknownServers(gateway));
      const rows = serversOf(gateway);
      output(given.json, { servers: rows }, () => describe(gateway, rows, given));
      for (const note of await brokenFiles(gateway)) process.stderr.write(`! ${note}\n`);
    });
  },
});

function describe(
  gateway: Gateway,
  rows: readonly ServerRow[],
  show: { readonly status?: boolean | undefined; readonly tools?: boolean | undefined },
): string {
  if (rows.length === 0) return noServers(gateway);
  const blocks = rows.map((row) => {
    const status = gateway.services.servers?.status(row.name);
    const isUsable = row.status === "connected" || (status !== undefined && isAtRest(status));
    const enabled = show.tools ? `, ${row.enabledCount} enabled` : "";
    return [
      `${isUsable ? "✓" : "✗"} ${row.name} (${counted(row.toolCount, "tool")}${enabled})`,
      ...(row.description ? [`  ${row.description}`] : []),
      `  Status: ${capitalised(row.status)}`,
      ...(show.status || row.status !== "connected" ? [`  ${row.reason}`] : []),
    ].join("\n");
  });
  return `MCP Servers (${rows.length} configured):\n\n${blocks.join("\n\n")}\n`;
}

function capitalised(status: string): string {
  return `${status.charAt(0).toUpperCase()}${status.slice(1)}`.replace("-", " ");
}

/** A server whose file cannot be read is not listed, so this is the place to say why. */
async function brokenFiles({ services }: Gateway): Promise<string[]> {
  const { files = [] } = (await services.sources?.collect()) ?? {};
  return files.flatMap(({ status, source, reason }) =>
    status === "broken" ? [`The servers of ${source} cannot be read. ${reason}`] : [],
  );
}
