import { resolve } from "node:path";
import type { CommandDef } from "citty";
import { type Gateway, GatewayError } from "../../core/mod.ts";
import type { CapabilityRecord } from "../export/mod.ts";
import type { HeldTool } from "../guard/pins.ts";
import { approvalOf, type ServerStatus } from "../upstreams/mod.ts";
import { describePending, pendingJson, pendingServers } from "./_capabilities.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { describeDefinition, shownDefinition } from "./_definition.ts";
import { type ConfigArgs, configArgs, loadCliConfig } from "./_gateway.ts";
import { output } from "./_output.ts";
import { approveLooked, nameIn } from "./_promotion.ts";
import { askableServers, askServers, checkServer, statusesOf, toolsOf } from "./_servers.ts";
import { counted, shownLine } from "./_shown.ts";
import { approveConfig } from "./_trust.ts";
import { usageError } from "./_usage.ts";

/** Approves a server from a project file, one that was introspected, or a tool; or lists what waits. */
export const approve: CommandDef = command({
  name: "approve",
  description:
    "Approve a server that a project file defines or that you introspected, or a tool that is held back; or list what waits",
  args: {
    server: { type: "positional", required: false, description: "The server, or the tool as server:tool" },
    file: {
      type: "string",
      description: "A config in a project folder that clients may start toolpipe with",
      valueHint: "FILE",
    },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ server, file, ...given }) {
    if (file !== undefined) return approveFile(file, given.json === true);
    if (server === undefined) {
      const [waiting, tools, looked] = await withCatalog(given, async (gateway) => {
        const servers = statusesOf(gateway).filter(({ status }) => status === "needs-approval");
        return [servers, gateway.services.guard?.waiting() ?? [], await pendingServers(gateway)] as const;
      });
      return output(given.json, toJson(waiting, tools, looked), () => describe(waiting, tools, looked));
    }
    const promoted = await withCatalog(given, (gateway) => approveLooked(gateway, server, given.config));
    if (promoted) {
      const name = nameIn(server);
      // In the config that it was added to, which need not be the one that is used here.
      const how = await tryOut({ ...given, config: promoted.config }, name);
      return output(given.json, { approved: name, tools: promoted.tools, ...how }, () =>
        [promoted.text, outcome(how), promoted.more, ""].join("\n"),
      );
    }
    const tools = await withCatalog(given, (gateway) => approveTools(gateway, server));
    if (tools.length > 0) {
      const names = tools.map(({ id }) => id);
      return output(given.json, { approved: names }, () => `✓ Approved ${names.join(", ")}\n`);
    }
    const status = await withCatalog(given, (gateway) => approveNow(gateway, server));
    const { enabledCount: _callable, ...how } = await tryOut(given, server);
    output(
      given.json,
      { approved: server, ...how },
      () => `✓ Approved ${describeDefinition(status.config)}\n${outcome(how)}\n`,
    );
  },
});

async function approveFile(given: string, json: boolean): Promise<void> {
  if (given === "") throw usageError("The option --file needs a value.");
  const file = resolve(given);
  // What is wrong with it is better known now than when a client starts.
  await loadCliConfig({ config: file });
  await approveConfig(file);
  output(json, { approved: file }, () => `✓ Approved ${file} as it is now\n`);
}

/** What the guard holds back under the name of a tool or a server; nothing where it holds back nothing of it. */
async function approveTools(gateway: Gateway, id: string): Promise<readonly HeldTool[]> {
  const { guard } = gateway.services;
  const [server = ""] = id.split(":");
  if (guard) await askServers(gateway, askableServers(gateway, server));
  const approved = (await guard?.approve(id)) ?? [];
  if (approved.length > 0 || !id.includes(":")) return approved;
  throw new GatewayError("CONFIG_INVALID", `The tool "${id}" does not wait for approval.`);
}

async function approveNow(gateway: Gateway, server: string): Promise<ServerStatus> {
  checkServer(gateway, server);
  const status = gateway.services.upstreams?.status(server);
  const { approvals } = gateway.services;
  if (!status || !approvals || status.config.origin.scope !== "project") {
    const message = `The server "${server}" needs no approval: it is not defined in a project file.`;
    throw new GatewayError("CONFIG_INVALID", message);
  }
  const { kind, name, hash } = approvalOf(status.config);
  await approvals.approve(kind, name, hash);
  return status;
}

interface Outcome {
  readonly status: string;
  readonly reason: string;
  readonly toolCount: number;
  /** How many of them can be called. */
  readonly enabledCount: number;
}

/** Connects to what was approved, which only a new gateway does: now is when a person wants to know that it works. */
function tryOut(given: ConfigArgs, server: string): Promise<Outcome> {
  return withCatalog(given, async (gateway) => {
    await askServers(gateway, askableServers(gateway, server));
    const { status = "error", reason = "It is gone." } = gateway.services.upstreams?.status(server) ?? {};
    const tools = toolsOf(gateway, server);
    return {
      status,
      reason,
      toolCount: tools.length,
      enabledCount: tools.filter(({ enabled }) => enabled).length,
    };
  });
}

function outcome({ status, reason, toolCount, enabledCount = toolCount }: Partial<Outcome>): string {
  if (status !== "connected") return `  It cannot be used yet: ${reason}`;
  const held = enabledCount === toolCount ? "" : `, of which ${enabledCount} can be called`;
  return `  It has ${counted(toolCount ?? 0, "tool")}${held}.`;
}

function toJson(
  waiting: readonly ServerStatus[],
  tools: readonly HeldTool[],
  looked: readonly CapabilityRecord[],
): object {
  return {
    ...(looked.length > 0 && { introspected: looked.map(pendingJson) }),
    waiting: waiting.map(({ config, reason }) => ({ ...shownDefinition(config), reason })),
    ...(tools.length > 0 && { tools: tools.map(({ id, reason }) => ({ id, reason })) }),
  };
}

function describe(
  waiting: readonly ServerStatus[],
  tools: readonly HeldTool[],
  looked: readonly CapabilityRecord[],
): string {
  if (waiting.length + tools.length + looked.length === 0) return "Nothing waits for approval.\n";
  const blocks = [
    ...looked.map(describePending),
    ...waiting.map(({ config, reason }) => `${describeDefinition(config)}\n  ${reason}`),
    ...tools.map(({ id, reason }) => `${shownLine(id)}\n  ${reason}`),
  ];
  return `${blocks.join("\n\n")}\n`;
}
