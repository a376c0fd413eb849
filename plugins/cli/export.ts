import { relative, resolve } from "node:path";
import type { CommandDef } from "citty";
import { type Gateway, GatewayError, type Tool } from "../../core/mod.ts";
import { introspectOutput } from "../discovery/introspect-output.ts";
import {
  type ExportFormat,
  emitterOf,
  exportFormats,
  PENDING_FOLDER,
  serverFolder,
  writeCapabilities,
} from "../export/mod.ts";
import type { TypeEmitter } from "../types/emitter.ts";
import type { CapabilityManifest } from "../types/manifest.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { configArgs } from "./_gateway.ts";
import { exportedOwnTool, exportedTool } from "./_manifest.ts";
import { output } from "./_output.ts";
import { askServers, checkServer, noServers, serversOf, troubleOf, unknownServers } from "./_servers.ts";
import { counted, shownLine } from "./_shown.ts";
import { usageError } from "./_usage.ts";

/** The options that say how files are written. */
export const exportArgs = {
  format: { type: "string", description: "rtfs, typescript or json", default: "rtfs", valueHint: "NAME" },
  out: {
    type: "string",
    description: "The folder; capabilities/servers/pending by default",
    valueHint: "DIR",
  },
  outputs: {
    type: "boolean",
    description: "Call every tool once that only reads and says nothing of its answer, to see what that is",
  },
} as const;

/** What those options come to. */
export async function exportTarget(given: {
  readonly format: string;
  readonly out?: string | undefined;
}): Promise<{ folder: string; emitter: TypeEmitter }> {
  const format = exportFormats.find((name): name is ExportFormat => name === given.format);
  if (format === undefined)
    throw usageError(`The option --format needs one of: ${exportFormats.join(", ")}.`);
  if (given.out === "") throw usageError("The option --out needs a value.");
  return { folder: resolve(given.out ?? PENDING_FOLDER), emitter: await emitterOf(format) };
}

interface Row {
  readonly server: string;
  readonly folder: string;
  readonly files: readonly string[];
  /** Why nothing was written of it. */
  readonly reason?: string;
}

/** Writes the tools of servers to files. */
export const exportCommand: CommandDef = command({
  name: "export",
  description: "Write the tools of your servers to files, one a tool",
  many: true,
  args: {
    server: { type: "positional", required: false, description: "The servers; all by default" },
    ...exportArgs,
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ _: named, ...given }) {
    const { folder, emitter } = await exportTarget(given);
    await withCatalog(given, async (gateway) => {
      for (const server of named) checkServer(gateway, server);
      const servers = named.length > 0 ? [...new Set(named)] : serversOf(gateway).map(({ name }) => name);
      await askServers(
        gateway,
        unknownServers(gateway).filter(({ name }) => servers.includes(name)),
      );
      const rows: Row[] = [];
      for (const server of servers) {
        const trouble = troubleOf(gateway, server);
        if (trouble && named.length > 0) throw trouble;
        const manifests = trouble ? [] : await manifestsOf(gateway, server, given.outputs === true);
        const written = await writeCapabilities({ folder, server, manifests, emitter });
        rows.push({
          server,
          folder: serverFolder(folder, server),
          files: written.map(({ file }) => file),
          ...(trouble && { reason: trouble.message }),
        });
      }
      output(given.json, { exported: rows }, () => describe(gateway, rows));
    });
  },
});

async function manifestsOf(
  gateway: Gateway,
  server: string,
  outputs: boolean,
): Promise<readonly CapabilityManifest[]> {
  const config = gateway.services.upstreams?.status(server)?.config;
  const manifests: CapabilityManifest[] = [];
  for (const tool of gateway.catalog.tools(server).filter(({ enabled }) => enabled)) {
    const whole = outputs ? await withOutput(gateway, tool) : tool;
    manifests.push(config ? exportedTool(whole, config) : exportedOwnTool(whole));
  }
  return manifests;
}

async function withOutput(gateway: Gateway, tool: Tool): Promise<Tool> {
  const outputSchema = await introspectOutput(gateway, tool).catch((thrown: unknown) => {
    gateway.report(GatewayError.from(thrown));
    return undefined;
  });
  return outputSchema ? { ...tool, outputSchema } : tool;
}

function describe(gateway: Gateway, rows: readonly Row[]): string {
  if (rows.length === 0) return noServers(gateway);
  const lines = rows.map(({ server, folder, files, reason }) =>
    reason === undefined
      ? `✓ ${shownLine(server)}: ${counted(files.length, "file")} in ${relative(process.cwd(), folder) || "."}`
      : `✗ ${shownLine(server)}: ${shownLine(reason)}`,
  );
  return `${lines.join("\n")}\n`;
}
