import type { CommandDef } from "citty";
import { type Gateway, GatewayError, nearest, type Tool } from "../../core/mod.ts";
import type { ServerStatus } from "../upstreams/mod.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { configArgs } from "./_gateway.ts";
import { output } from "./_output.ts";
import { askableServers, askServers, checkServer, reasonOf, toolsOf, unknownServers } from "./_servers.ts";
import { counted, shownLine } from "./_shown.ts";

/** Explains how a server or a tool stands: no tool disappears without a reason. */
export const why: CommandDef = command({
  name: "why",
  description: "Explain why a server or a tool is, or is not, there to call",
  args: {
    name: { type: "positional", required: true, description: "SERVER or SERVER:TOOL" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    const [server = "", tool] = split(given.name);
    await withCatalog(given, async (gateway) => {
      checkServer(gateway, server);
      const isNew = tool !== undefined && !gateway.catalog.tool(`${server}:${tool}`);
      await askServers(gateway, isNew ? askableServers(gateway, server) : unknownServers(gateway, server));
      const lines = [...aboutServer(gateway, server, tool), ...aboutTool(gateway, server, tool)];
      const because = lines.map(shownLine);
      output(given.json, { name: given.name, because }, () => `${because.join("\n")}\n`);
    });
  },
});

function split(name: string): [server: string, tool?: string] {
  const colon = name.indexOf(":");
  return colon < 0 ? [name] : [name.slice(0, colon), name.slice(colon + 1)];
}

function aboutServer(gateway: Gateway, server: string, tool: string | undefined): string[] {
  const status = gateway.services.upstreams?.status(server);
  if (!status) return [`The server "${server}" is part of the gateway itself.`];
  const { connection } = status.config;
  const how =
    connection.type === "stdio" ? `the command "${connection.command}"` : `a URL, by ${connection.type}`;
  const rejected = tool === undefined ? (status.listing?.rejected ?? []) : [];
  return [
    `The server "${server}" comes from ${placeOf(status)} and is reached by ${how}.`,
    `Its status is ${status.status}: ${reasonOf(status)}`,
    aboutList(status, toolsOf(gateway, server)),
    ...rejected.map(({ name, reason }) => `The tool "${name}" is left out: ${reason}.`),
  ];
}

function placeOf({ config: { origin } }: ServerStatus): string {
  const where = origin.file === undefined ? "" : ` (${origin.file})`;
  return `${origin.source === "inline" ? "the config" : origin.source}${where}`;
}

function aboutList({ listedAt }: ServerStatus, tools: readonly Tool[]): string {
  if (listedAt === undefined) return "Its tools were never read.";
  const disabled = tools.filter((tool) => !tool.enabled).length;
  return `Its tools were read at ${new Date(listedAt).toISOString()}: ${counted(tools.length, "tool")}, ${disabled} of them disabled.`;
}

function aboutTool(gateway: Gateway, server: string, name: string | undefined): string[] {
  if (name === undefined) return [];
  const { rules, upstreams } = gateway.services;
  const tool = toolsOf(gateway, server).find((one) => one.name === name);
  const rule = rules ? [rules.explain(server, name)] : [];
  if (tool) {
    // What the rules say of it need not be said twice.
    const { enabled, disabledBecause: because = "" } = tool;
    if (rules && (enabled || (because !== "" && rule.join().includes(because)))) return rule;
    return [`The tool "${tool.id}" is ${enabled ? "enabled" : "disabled"}. ${because}`, ...rule];
  }
  const status = upstreams?.status(server);
  const rejected = status?.listing?.rejected.find((one) => one.name === name);
  if (rejected) return [`The tool "${name}" is left out: ${rejected.reason}.`];
  if (status && status.listedAt === undefined)
    return [`Whether it has a tool "${name}" is not known before its tools are read.`];
  const names = toolsOf(gateway, server).map((known) => known.name);
  const hint = nearest(name, names);
  const message = `The server "${server}" has no tool "${name}"${hint ? `; did you mean "${hint}"?` : "."}`;
  throw new GatewayError("TOOL_NOT_FOUND", message);
}
