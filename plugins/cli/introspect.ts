import { relative } from "node:path";
import type { CommandDef } from "citty";
import { type Gateway, GatewayError, type JsonObject, type LoadedConfig } from "../../core/mod.ts";
import { hasServer } from "../../presets/_anygpt/servers.ts";
import { outputIntrospection } from "../discovery/introspect-output.ts";
import { createDiscoveryService, type DiscoveredTool, enriching } from "../discovery/mod.ts";
import { type CapabilityRecord, type Requested, readRecord, requestApproval } from "../export/mod.ts";
import { serverName } from "../sources/server-name.ts";
import { approvalParts, describeTools, introspectedConfig } from "./_capabilities.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { describeDefinition, shownDefinition } from "./_definition.ts";
import { configArgs, hasPlugin, withGateway } from "./_gateway.ts";
import { pairsOf, type Target, targetOf } from "./_introspect-target.ts";
import { exportedTool } from "./_manifest.ts";
import { output } from "./_output.ts";
import { waitingLine } from "./_servers.ts";
import { counted, shownLine } from "./_shown.ts";
import { usageError } from "./_usage.ts";
import { exportArgs, exportTarget } from "./export.ts";

/** Looks at a server that no config has, and asks for its approval. */
export const introspect: CommandDef = command({
  name: "introspect",
  description:
    "Look at a server without adding it: its tools are written to files that wait for your approval",
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
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ _: words, ...given }, typed) {
    const target = await exportTarget(given);
    const extras = { headers: pairsOf(typed, "header", ":"), env: pairsOf(typed, "env", "=") };
    await withCatalog(given, async (gateway, config) => {
      const parts = approvalParts(gateway);
      const before = words.length === 1 ? await readRecord(parts.store, words[0] ?? "") : undefined;
      const meant = before ? known(before) : targetOf(words, extras);
      const name = before ? meant.name : await chooseName(gateway, meant, given.as);
      const server = introspectedConfig(name, meant.entry);
      const tools = await discover(config, name, meant.entry, given.outputs === true);
      const requested = await requestApproval(
        parts,
        {
          server: name,
          entry: meant.entry,
          tools: tools.map(({ tool, outputSchema }) => ({
            tool,
            // What a tool answered once is written down, and is no part of what is approved.
            manifest: exportedTool(outputSchema ? { ...tool, outputSchema } : tool, server),
          })),
          summary: `The server ${name} with ${counted(tools.length, "tool")}`,
        },
        target,
      );
      output(given.json, toJson(shownDefinition(server), requested), () =>
        describe(name, describeDefinition(server), requested),
      );
    });
  },
});

function known({ server, pending, approved }: CapabilityRecord): Target {
  return { name: server, entry: pending?.entry ?? approved?.entry ?? {} };
}

/** A name that is not another server's. */
async function chooseName(
  gateway: Gateway,
  { name, entry }: Target,
  as: string | undefined,
): Promise<string> {
  const chosen = as === undefined ? name : serverName(as);
  if (chosen === undefined || (as !== undefined && chosen !== as)) {
    throw usageError("The option --as needs a name without colons and signs that cannot be seen.");
  }
  const record = await readRecord(approvalParts(gateway).store, chosen);
  const isOther = record
    ? JSON.stringify(known(record).entry) !== JSON.stringify(entry)
    : hasServer(gateway, chosen);
  // Who names it again means to change it; who does not may not know that there is one.
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
  /** What it was seen to answer. */
  readonly outputSchema?: JsonObject | undefined;
}

async function discover(
  config: LoadedConfig,
  name: string,
  entry: JsonObject,
  outputs: boolean,
): Promise<readonly Found[]> {
  const server = introspectedConfig(name, entry);
  const done = waitingLine(`Asking "${name}" for tools …`);
  try {
    const tools = once(await createDiscoveryService(enriching).discoverTools(server));
    if (!outputs) return tools.map((tool) => ({ tool }));
    // Calls run through a pipeline, so that they are checked and audited: one with this server and no other.
    return await withGateway(alone(config, name, entry), async (gateway) => {
      await gateway.services.upstreams?.refresh(name);
      const outputOf = outputIntrospection(gateway);
      const found: Found[] = [];
      for (const tool of tools) found.push({ tool, outputSchema: await outputOf(tool, { config: server }) });
      return found;
    });
  } finally {
    done();
  }
}

function alone(
  { configFile: _file, ...config }: LoadedConfig,
  name: string,
  entry: JsonObject,
): LoadedConfig {
  for (const plugin of ["sources", "upstreams"]) {
    if (hasPlugin(config, plugin)) continue;
    throw new GatewayError("CONFIG_INVALID", `Tools cannot be called: the plugin "${plugin}" is not there.`);
  }
  const upstreams = { ...config.options?.["upstreams"], discover: "none", useCache: false };
  return { ...config, options: { ...config.options, upstreams, sources: { mcpServers: { [name]: entry } } } };
}

/** A server may list a name twice; as everywhere, the first one counts. */
function once(tools: readonly DiscoveredTool[]): readonly DiscoveredTool[] {
  return [...new Map(tools.toReversed().map((tool) => [tool.name, tool])).values()].toReversed();
}

function toJson(definition: object, { folder, waiting, unchanged }: Requested): object {
  const tools = waiting.map(({ name, file, summary, categories }) => ({ name, file, summary, categories }));
  return { ...definition, folder, unchanged, waiting: tools };
}

function describe(name: string, definition: string, { folder, waiting, unchanged }: Requested): string {
  if (waiting.length === 0) {
    return `✓ ${shownLine(name)}: nothing has changed; ${counted(unchanged, "tool")} approved\n`;
  }
  const kept = unchanged > 0 ? [`  ${counted(unchanged, "tool")} as approved before.`] : [];
  return `${[
    definition,
    ...describeTools(waiting),
    ...kept,
    `  Files: ${relative(process.cwd(), folder) || "."}`,
    `None of this can be called before you approve it: toolpipe approve ${shownLine(name)}`,
  ].join("\n")}\n`;
}
