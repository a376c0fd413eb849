import type { Gateway } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { engineOf, type ToolMetadata } from "../../presets/anygpt/engine.ts";
import { troubleOf } from "../lib/servers.ts";
import { output, shownLine } from "../lib/terminal/output.ts";
import { askServers, checkServer, noServers, serversOf, unknownServers } from "../lib/terminal/servers.ts";
import { openGateway } from "./context.ts";

interface Show {
  readonly server?: string | undefined;
  readonly all?: boolean | undefined;
  readonly tags?: boolean | undefined;
}

/** Lists the tools of the catalog. */
export const tools: Command = defineCommand({
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
      const trouble = server !== undefined && troubleOf(gateway, server);
      if (trouble) throw trouble;
      const names = server === undefined ? serversOf(gateway).map(({ name }) => name) : [server];
      const engine = engineOf(gateway);
      const listed = await Promise.all(
        // Those that could not be asked just now would be asked again.
        names.map(async (name) => ({
          server: name,
          tools: troubleOf(gateway, name) ? [] : await engine.listTools(name, true),
        })),
      );
      output(given.json, toJson(listed, given), () =>
        names.length === 0
          ? noServers(gateway)
          : `${listed.map((one) => describe(gateway, one, given)).join("\n\n")}\n`,
      );
    });
  },
});

interface Listed {
  readonly server: string;
  readonly tools: readonly ToolMetadata[];
}

function toJson(listed: readonly Listed[], { server, all }: Show): object {
  const rows = listed.map(({ server: name, tools: own }) => ({
    server: name,
    tools: own.flatMap(({ server: _, ...tool }) => (all || tool.enabled ? [tool] : [])),
  }));
  return server === undefined ? { servers: rows } : (rows[0] ?? {});
}

function describe(gateway: Gateway, { server, tools: own }: Listed, show: Show): string {
  const status = gateway.services.servers?.status(server);
  if (troubleOf(gateway, server)) return `Tools from ${server} (not known):\n\n  ${status?.reason}`;
  const enabled = own.filter((tool) => tool.enabled);
  const rejected = show.all ? (status?.listing?.rejected ?? []) : [];
  return [
    `Tools from ${server} (${enabled.length} enabled, ${own.length - enabled.length} disabled):`,
    ...(show.all ? own : enabled).map((tool) => describeTool(tool, show)),
    ...rejected.map(({ name, reason }) => `✗ ${shownLine(name)} (left out: ${reason})`),
  ].join("\n\n");
}

function describeTool({ name, summary, enabled, tags }: ToolMetadata, show: Show): string {
  return [
    enabled ? `✓ ${shownLine(name)}` : `✗ ${shownLine(name)} (disabled)`,
    ...(summary ? [`  ${shownLine(summary)}`] : []),
    ...(show.tags && tags.length > 0 ? [`  Tags: ${shownLine(tags.join(", "))}`] : []),
  ].join("\n");
}
