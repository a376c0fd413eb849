import { relative } from "node:path";
import {
  type Gateway,
  GatewayError,
  type JsonObject,
  type LoadedConfig,
  type Tool,
} from "../../../core/mod.ts";
import {
  type Command,
  type CommandContext,
  type ConfigChoice,
  configArgs,
  defineCommand,
} from "../../../core/services/command.ts";
import { normalizeServerName } from "../../lib/server-entry/normalize.ts";
import { hasServer, showWaiting } from "../../lib/servers.ts";
import { describeDefinition, describeToolLines, summarizeDefinition } from "../../lib/terminal/definition.ts";
import {
  formatCount,
  output,
  parsePairs,
  parseRepeated,
  quoteForShell,
  toTerminalLine,
  usageError,
} from "../../lib/terminal/output.ts";
import { introspectedConfig } from "../capability-files/capability-approvals.ts";
import {
  type CapabilityRecord,
  type Requested,
  readCapabilityRecord,
  requestApproval,
} from "../capability-files/mod.ts";
import { createOutputIntrospection, isHarmless } from "../introspect-output.ts";
import { exportedTool } from "../manifest.ts";
import { type DiscoveredTool, serverDiscovery } from "../mod.ts";
import { approvalParts } from "../register-server.ts";
import { findCallable } from "./callable-tools.ts";
import { exportArgs, resolveTarget } from "./export.ts";
import { type IntrospectTarget, parseTarget } from "./introspect-target.ts";
import { findDiscovery } from "./report.ts";

/** Introspects a server that no config has, and requests its approval. */
export const introspect: Command = defineCommand({
  many: true,
  args: {
    server: {
      type: "positional",
      required: true,
      description: "Its URL, or its command after --, or the name of one that was looked at before",
    },
    as: { type: "string", description: "The name it is to have", valueHint: "NAME" },
    header: { type: "string", description: "A header to send; may be repeated", valueHint: "NAME:VALUE" },
    env: { type: "string", description: "A variable to set; may be repeated", valueHint: "NAME=VALUE" },
    ...exportArgs,
    call: {
      type: "string",
      description: "A reading tool to call for --outputs, though its server is not approved; may be repeated",
      valueHint: "TOOL",
    },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ _: words, ...given }, context) {
    const { typed } = context;
    const extras = { headers: parsePairs(typed, "header", ":"), env: parsePairs(typed, "env", "=") };
    await context.open(
      given,
      async (gateway) => {
        const target = await resolveTarget(gateway, given);
        const parts = approvalParts(gateway);
        const before =
          words.length === 1 ? await readCapabilityRecord(parts.store, words[0] ?? "") : undefined;
        const meant = before ? toTarget(before) : parseTarget(words, extras);
        const name = before ? meant.name : await chooseName(gateway, meant, given.as);
        const server = introspectedConfig(name, meant.entry);
        const named = parseRepeated(typed, "call");
        const outputs = given.outputs === true || named.length > 0;
        const tools = await discover(gateway, context, given, { name, entry: meant.entry }, outputs && named);
        const known = { servers: [name], tools: tools.map(({ tool }) => tool.name) };
        const requested = await requestApproval(
          parts,
          {
            server: name,
            entry: meant.entry,
            tools: tools.map(({ tool, outputSchema }) => ({
              tool,
              // An introspected output schema is written, but is not part of the approval.
              manifest: exportedTool(outputSchema ? { ...tool, outputSchema } : tool, server, known),
            })),
            summary: `The server ${name} with ${formatCount(tools.length, "tool")}`,
          },
          target,
        );
        output(given.json, toJson(summarizeDefinition(server), requested), () =>
          describe(name, describeDefinition(summarizeDefinition(server)), requested),
        );
      },
      { with: [serverDiscovery(), "types"] },
    );
  },
});

function toTarget({ server, pending, approved }: CapabilityRecord): IntrospectTarget {
  return { name: server, entry: pending?.entry ?? approved?.entry ?? {} };
}

/** Chooses a name that no other server has. */
async function chooseName(
  gateway: Gateway,
  { name, entry }: IntrospectTarget,
  as: string | undefined,
): Promise<string> {
  const chosen = as === undefined ? name : normalizeServerName(as);
  if (chosen === undefined || (as !== undefined && chosen !== as)) {
    throw usageError("The option --as needs a name without colons and signs that cannot be seen.");
  }
  const record = await readCapabilityRecord(approvalParts(gateway).store, chosen);
  const isOther = record
    ? JSON.stringify(toTarget(record).entry) !== JSON.stringify(entry)
    : hasServer(gateway, chosen);
  // With --as, the user means to change the server; without, the user may not know that it exists.
  if (isOther && !(record && as !== undefined)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `There is a server "${chosen}" already. Give this one another name with --as NAME.`,
    );
  }
  return chosen;
}

interface Found {
  readonly tool: DiscoveredTool;
  /** Schema of its answer. */
  readonly outputSchema?: JsonObject | undefined;
}

async function discover(
  gateway: Gateway,
  context: CommandContext,
  choice: ConfigChoice,
  { name, entry }: IntrospectTarget,
  named: readonly string[] | false,
): Promise<readonly Found[]> {
  const server = introspectedConfig(name, entry);
  const done = showWaiting(`Asking "${name}" for tools …`);
  try {
    const tools = dropDuplicates(await findDiscovery(gateway).discoverTools(server));
    const mayCall = named && (await findCallable(gateway, { name, entry }, tools, named));
    if (!mayCall) return tools.map((tool) => ({ tool }));
    // Calls run through a pipeline, so that they are checked and audited: one with this server and no other.
    return await context.open(
      choice,
      async (own) => {
        await own.services.servers?.refresh(name);
        for (const tool of named || []) warnOfRisk(own.catalog.tool(`${name}:${tool}`));
        const introspectTool = createOutputIntrospection(own, mayCall);
        const found: Found[] = [];
        for (const tool of tools)
          found.push({ tool, outputSchema: await introspectTool(tool, { config: server }) });
        return found;
      },
      { adjust: (config) => withOnlyServer(config, name, entry) },
    );
  } finally {
    done();
  }
}

/** Warns of a tool that the user named and that is not called, because it may change something. */
function warnOfRisk(tool: Tool | undefined): void {
  if (!tool || isHarmless(tool)) return;
  process.stderr.write(
    `"${toTerminalLine(tool.id)}" was not called for its output, because its name does not say that it only reads.\n`,
  );
}

function withOnlyServer(
  { configFile: _file, ...config }: LoadedConfig,
  name: string,
  entry: JsonObject,
): LoadedConfig {
  for (const plugin of ["sources", "upstreams"]) {
    if ([...config.preset.plugins, ...(config.plugins ?? [])].some((one) => one.name === plugin)) continue;
    throw new GatewayError("CONFIG_INVALID", `Tools cannot be called: the plugin "${plugin}" is missing.`);
  }
  const upstreams = { discover: "none", useCache: false };
  return { ...config, options: { upstreams, sources: { mcpServers: { [name]: entry } } } };
}

/** A server may list a name twice; the first one counts. */
function dropDuplicates(tools: readonly DiscoveredTool[]): readonly DiscoveredTool[] {
  return [...new Map(tools.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
}

function toJson(definition: object, { folder, waiting, unchanged }: Requested): object {
  const tools = waiting.map(({ name, file, summary, categories }) => ({ name, file, summary, categories }));
  return { ...definition, folder, unchanged, waiting: tools };
}

function describe(name: string, definition: string, { folder, waiting, unchanged }: Requested): string {
  if (waiting.length === 0) {
    return `✓ ${toTerminalLine(name)}: nothing has changed; ${formatCount(unchanged, "tool")} approved\n`;
  }
  const kept = unchanged > 0 ? [`  ${formatCount(unchanged, "tool")} as approved before.`] : [];
  return `${[
    definition,
    ...describeToolLines(waiting),
    ...kept,
    `  Files: ${relative(process.cwd(), folder) || "."}`,
    `None of this can be called before you approve it: toolpipe approve ${quoteForShell(name)}`,
  ].join("\n")}\n`;
}
