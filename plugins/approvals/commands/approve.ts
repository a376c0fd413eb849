import { relative, resolve } from "node:path";
import { type Gateway, GatewayError } from "../../../core/mod.ts";
import type { PendingApproval } from "../../../core/services/approvals.ts";
import {
  type Command,
  type CommandContext,
  type ConfigChoice,
  configArgs,
  defineCommand,
} from "../../../core/services/command.ts";
import { hashConfigFile } from "../../lib/local-files.ts";
import { askableServers, askServers, checkServer, listServerTools } from "../../lib/servers.ts";
import {
  type DefinitionSummary,
  describeDefinition,
  describeToolLines,
  summarizeDefinition,
} from "../../lib/terminal/definition.ts";
import { formatCount, formatPath, output, toTerminalLine, usageError } from "../../lib/terminal/output.ts";

/** The details of an approval, by its kind. */
type Details = DefinitionSummary & {
  readonly tools: Parameters<typeof describeToolLines>[0];
  readonly folder: string;
  /** Once it is approved: tools that still wait, the config it was added to, and the one in use if that differs. */
  readonly left: number;
  readonly config: string;
  readonly configInUse?: string;
};

/** Approves a server, a tool or a config; without a name, lists what waits for approval. */
export const approve: Command = defineCommand({
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
  async run({ server: id, file, ...given }, context) {
    if (file !== undefined) return approveFile(context, file, given.json === true);
    return context.open(given, async (gateway) => {
      if (id === undefined) {
        const items = (await gateway.services.approvals?.pending()) ?? [];
        return output(given.json, toJson(items), () => describePending(items));
      }
      const items = await decide(gateway, id, given.config);
      const [first] = items;
      if (first?.kind === "tool") {
        const names = items.map((item) => item.id);
        return output(given.json, { approved: names }, () => `✓ Approved ${names.join(", ")}\n`);
      }
      if (first?.kind === "capabilities") return reportAdded(context, given, first);
      const definition = summarizeDefinition(projectServer(gateway, id));
      const { enabledCount: _enabled, ...outcome } = await tryServer(gateway, id);
      output(
        given.json,
        { approved: id, ...outcome },
        () => `✓ Approved ${describeDefinition(definition)}\n${describeOutcome(outcome)}\n`,
      );
    });
  },
});

async function approveFile(context: CommandContext, given: string, json: boolean): Promise<void> {
  if (given === "") throw usageError("The option --file needs a value.");
  const file = resolve(given);
  // Of the files as the user has read them: a config could change them as it is loaded.
  const hash = await hashConfigFile(file).catch(() => "");
  // An error in it is better reported now than when a client starts.
  await context.load({ config: file });
  // Without a config: what a config says of its own approval must not count.
  await context.open({ look: false }, async ({ services }) => {
    await services.approvals?.approve("config", file, hash);
  });
  output(json, { approved: file }, () => `✓ Approved ${file} as it is now\n`);
}

/** Approves pending items of an id; none if nothing is pending. Throws for a tool that is not. */
async function decide(
  gateway: Gateway,
  id: string,
  config: string | undefined,
): Promise<readonly PendingApproval[]> {
  const { approvals } = gateway.services;
  const known = (await approvals?.decide(id, true, { config })) ?? [];
  if (known.length > 0) return known;
  // Tools that were never listed may wait, too.
  if (approvals && gateway.drivers("approval").has("tool")) {
    await askServers(gateway, askableServers(gateway, id.split(":", 1)[0]));
    const fresh = await approvals.decide(id, true, { kind: "tool" });
    if (fresh.length > 0) return fresh;
  }
  if (!id.includes(":")) return [];
  throw new GatewayError("CONFIG_INVALID", `The tool "${id}" does not wait for approval.`);
}

/** Returns the definition of a server that needs approval, whether it has been approved or not. */
function projectServer(gateway: Gateway, server: string): Parameters<typeof summarizeDefinition>[0] {
  checkServer(gateway, server);
  const config = gateway.services.servers?.status(server)?.config;
  if (config?.origin.scope === "project" && gateway.services.approvals) return config;
  throw new GatewayError(
    "CONFIG_INVALID",
    `The server "${server}" needs no approval: it is not defined in a project file.`,
  );
}

/** Reports on an introspected server that was added to a config, in a gateway of that config. */
async function reportAdded(
  context: CommandContext,
  given: ConfigChoice & { readonly json?: boolean | undefined },
  item: PendingApproval,
): Promise<void> {
  const { tools, folder, left, config, configInUse, ...definition } = item.details as unknown as Details;
  const outcome = await context.open({ ...given, config }, (gateway) => tryServer(gateway, item.id));
  const names = tools.map(({ name }) => name);
  output(given.json, { approved: item.id, tools: names, ...outcome }, () =>
    [
      `✓ Approved ${describeDefinition(definition)}`,
      ...describeToolLines(tools),
      describeOutcome(outcome),
      ...(left > 0 ? [`  ${formatCount(left, "tool")} of it still to be approved.`] : []),
      `  Its definition is in ${formatPath(config)}, its files are in ${relative(process.cwd(), folder) || "."}`,
      ...(configInUse === undefined
        ? []
        : [`  In this folder, another config is used: ${formatPath(configInUse)}`]),
      "",
    ].join("\n"),
  );
}

interface Outcome {
  readonly status: string;
  readonly reason: string;
  readonly toolCount: number;
  /** Number of tools that can be called. */
  readonly enabledCount: number;
}

/** Connects to an approved server, so that the user learns at once whether it works. */
async function tryServer(gateway: Gateway, server: string): Promise<Outcome> {
  const { servers } = gateway.services;
  await servers?.recheck(server);
  await askServers(gateway, askableServers(gateway, server));
  const { status = "error", reason = "It is gone." } = servers?.status(server) ?? {};
  const tools = listServerTools(gateway, server);
  const enabledCount = tools.filter(({ enabled }) => enabled).length;
  return { status, reason, toolCount: tools.length, enabledCount };
}

function describeOutcome({ status, reason, toolCount, enabledCount = toolCount }: Partial<Outcome>): string {
  if (status !== "connected") return `  It cannot be used yet: ${reason}`;
  const held = enabledCount === toolCount ? "" : `, of which ${enabledCount} can be called`;
  return `  It has ${formatCount(toolCount ?? 0, "tool")}${held}.`;
}

function toJson(items: readonly PendingApproval[]): object {
  const ofKind = (kind: string) => items.filter((item) => item.kind === kind);
  const introspected = ofKind("capabilities").map(({ details }) => details);
  const tools = ofKind("tool").map(({ id, reason }) => ({ id, reason }));
  return {
    ...(introspected.length > 0 && { introspected }),
    waiting: ofKind("server").map(({ details, reason }) => ({ ...details, reason })),
    ...(tools.length > 0 && { tools }),
  };
}

function describePending(items: readonly PendingApproval[]): string {
  if (items.length === 0) return "Nothing waits for approval.\n";
  const blocks = items.map(({ id, reason, details }) => {
    if (!details) return `${toTerminalLine(id)}\n  ${reason}`;
    const { tools, ...definition } = details as unknown as Details;
    return [describeDefinition(definition), ...(tools ? describeToolLines(tools) : []), `  ${reason}`].join(
      "\n",
    );
  });
  return `${blocks.join("\n\n")}\n`;
}
