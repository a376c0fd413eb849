import { type Gateway, GatewayError, nearest, type Tool } from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import type { ServerStatus } from "../../core/services/servers.ts";
import {
  askableServers,
  askServers,
  checkServer,
  describeStatus,
  listServerTools,
  unknownServers,
} from "../lib/servers.ts";
import { formatCount, output, toTerminalLine } from "../lib/terminal/output.ts";
import { openGateway } from "./context.ts";

/** Explains the status of a server or tool: no tool disappears without a reason. */
export const command = defineCommand({
  args: {
    name: { type: "positional", required: true, description: "SERVER or SERVER:TOOL" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    const [server = "", tool] = splitName(given.name);
    await openGateway(given, async (gateway) => {
      checkServer(gateway, server);
      const isNew = tool !== undefined && !gateway.catalog.tool(`${server}:${tool}`);
      await askServers(gateway, isNew ? askableServers(gateway, server) : unknownServers(gateway, server));
      const lines = [...explainServer(gateway, server, tool), ...explainTool(gateway, server, tool)];
      const because = lines.map(toTerminalLine);
      output(given.json, { name: given.name, because }, () => `${because.join("\n")}\n`);
    });
  },
});

function splitName(name: string): [server: string, tool?: string] {
  const colon = name.indexOf(":");
  return colon < 0 ? [name] : [name.slice(0, colon), name.slice(colon + 1)];
}

function explainServer(gateway: Gateway, server: string, tool: string | undefined): string[] {
  const status = gateway.services.servers?.status(server);
  if (!status) return [`The server "${server}" is part of the gateway itself.`];
  const { connection } = status.config;
  const how =
    connection.type === "stdio" ? `the command "${connection.command}"` : `a URL, by ${connection.type}`;
  const rejected = tool === undefined ? (status.listing?.rejected ?? []) : [];
  return [
    `The server "${server}" comes from ${formatOrigin(status)} and is reached by ${how}.`,
    `Its status is ${status.status}: ${describeStatus(status)}`,
    explainListing(status, listServerTools(gateway, server)),
    ...rejected.map(({ name, reason }) => `The tool "${name}" is left out: ${reason}.`),
  ];
}

function formatOrigin({ config: { origin } }: ServerStatus): string {
  const where = origin.file === undefined ? "" : ` (${origin.file})`;
  return `${origin.source === "inline" ? "the config" : origin.source}${where}`;
}

function explainListing({ listedAt }: ServerStatus, tools: readonly Tool[]): string {
  if (listedAt === undefined) return "Its tools were never read.";
  const disabled = tools.filter((tool) => !tool.enabled).length;
  return `Its tools were read at ${new Date(listedAt).toISOString()}: ${formatCount(tools.length, "tool")}, ${disabled} of them disabled.`;
}

/** Explains what a call of a guarded tool needs. */
function explainPolicy({ policy }: Tool): string[] {
  if (!policy) return [];
  const { riskLevel, idempotencyRequired, confirmationRequired, requiredScopes } = policy;
  const needs = [
    ...(idempotencyRequired ? ["an idempotency key"] : []),
    ...(confirmationRequired ? ["a confirmation"] : []),
    ...requiredScopes.map((scope) => `the scope "${scope}"`),
  ];
  return [`Its risk is ${riskLevel}. A call needs ${needs.join(", ") || "neither a key nor a scope"}.`];
}

function explainTool(gateway: Gateway, server: string, name: string | undefined): string[] {
  if (name === undefined) return [];
  const { rules, servers } = gateway.services;
  const tool = listServerTools(gateway, server).find((one) => one.name === name);
  const rule = rules ? [rules.explain(server, name)] : [];
  if (tool) {
    // The reason is not repeated if the rules already give it.
    const { enabled, disabledBecause: because = "" } = tool;
    const isExplained = rules && (enabled || (because !== "" && rule.join().includes(because)));
    const state = `The tool "${tool.id}" is ${enabled ? "enabled" : "disabled"}. ${because}`;
    return [...(isExplained ? [] : [state]), ...rule, ...explainPolicy(tool)];
  }
  const status = servers?.status(server);
  const rejected = status?.listing?.rejected.find((one) => one.name === name);
  if (rejected) return [`The tool "${name}" is left out: ${rejected.reason}.`];
  if (status && status.listedAt === undefined)
    return [`Whether "${server}" has a tool "${name}" is not known: its tools were never read.`];
  const names = listServerTools(gateway, server).map((known) => known.name);
  const hint = nearest(name, names);
  const message = `The server "${server}" has no tool "${name}"${hint ? `; did you mean "${hint}"?` : "."}`;
  throw new GatewayError("TOOL_NOT_FOUND", message);
}
