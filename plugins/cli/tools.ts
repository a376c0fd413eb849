import type { Gateway } from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import { createEngine, type ToolMetadata } from "../../presets/anygpt/engine.ts";
import {
  askServers,
  checkServer,
  explainNoServers,
  findServerError,
  listServerRows,
  toUnreachable,
  unknownServers,
} from "../lib/servers.ts";
import { output, toTerminalLine } from "../lib/terminal/output.ts";
import { openGateway } from "./context.ts";

interface ToolsArgs {
  readonly server?: string | undefined;
  readonly all?: boolean | undefined;
  readonly tags?: boolean | undefined;
}

/** Lists the tools of the catalog. */
export const command = defineCommand({
  args: {
    server: { type: "positional", required: false, description: "Only the tools of this server" },
    all: { type: "boolean", description: "Include disabled tools" },
    tags: { type: "boolean", description: "Show tags" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    await openGateway(given, async (gateway) => {
      const { server } = given;
      if (server !== undefined) checkServer(gateway, server);
      await askServers(gateway, unknownServers(gateway, server));
      const failure = server !== undefined && findServerError(gateway, server);
      if (failure) throw toUnreachable(failure);
      const names = server === undefined ? listServerRows(gateway).map(({ name }) => name) : [server];
      const engine = createEngine(gateway);
      const listed = await Promise.all(
        // Listing the tools of a failed server would ask it again.
        names.map(async (name) => ({
          server: name,
          tools: findServerError(gateway, name) ? [] : await engine.listTools(name, true),
        })),
      );
      output(given.json, toJson(listed, given), () =>
        names.length === 0
          ? explainNoServers(gateway)
          : `${listed.map((one) => describe(gateway, one, given)).join("\n\n")}\n`,
      );
    });
  },
});

interface Listed {
  readonly server: string;
  readonly tools: readonly ToolMetadata[];
}

function toJson(listed: readonly Listed[], { server, all }: ToolsArgs): object {
  const rows = listed.map(({ server: name, tools: own }) => ({
    server: name,
    tools: own.flatMap(({ server: _, ...tool }) => (all || tool.enabled ? [tool] : [])),
  }));
  return server === undefined ? { servers: rows } : (rows[0] ?? {});
}

function describe(gateway: Gateway, { server, tools: own }: Listed, show: ToolsArgs): string {
  const status = gateway.services.servers?.status(server);
  if (findServerError(gateway, server)) return `Tools from ${server} (not known):\n\n  ${status?.reason}`;
  const enabled = own.filter((tool) => tool.enabled);
  const rejected = show.all ? (status?.listing?.rejected ?? []) : [];
  return [
    `Tools from ${server} (${enabled.length} enabled, ${own.length - enabled.length} disabled):`,
    ...(show.all ? own : enabled).map((tool) => describeTool(tool, show)),
    ...rejected.map(({ name, reason }) => `✗ ${toTerminalLine(name)} (left out: ${reason})`),
  ].join("\n\n");
}

function describeTool({ name, summary, enabled, tags, reason }: ToolMetadata, show: ToolsArgs): string {
  return [
    enabled ? `✓ ${toTerminalLine(name)}` : `✗ ${toTerminalLine(name)} (disabled)`,
    ...(summary ? [`  ${toTerminalLine(summary)}`] : []),
    ...(reason === undefined ? [] : [`  ${toTerminalLine(reason)}`]),
    ...(show.tags && tags.length > 0 ? [`  Tags: ${toTerminalLine(tags.join(", "))}`] : []),
  ].join("\n");
}
