import { join, relative, resolve } from "node:path";
import { type Gateway, GatewayError, type Tool } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import type { CapabilityManifest, TypeEmitter } from "../../../core/services/emitter.ts";
import { toServerKey } from "../../../core/services/sources.ts";
import { hashDefinition } from "../../lib/definition-files.ts";
import { checkDriverFields } from "../../lib/driver-choice.ts";
import {
  askServers,
  checkServer,
  explainNoServers,
  findServerError,
  listServerRows,
  unknownServers,
} from "../../lib/servers.ts";
import { formatCount, output, toTerminalLine, usageError } from "../../lib/terminal/output.ts";
import { CAPABILITIES, capabilitiesHash, readCapabilityRecord } from "../capability-files/record.ts";
import { approvedFolder, PENDING_FOLDER } from "../capability-files/request-approval.ts";
import { serverFolder, writeCapabilities } from "../capability-files/write-capabilities.ts";
import { introspectOutput } from "../introspect-output.ts";
import { exportedOwnTool, exportedTool } from "../manifest.ts";

/** Options of the files of an export. */
export const exportArgs = {
  format: {
    type: "string",
    description: "rtfs, typescript, json, or the path of an emitter",
    default: "rtfs",
    valueHint: "NAME",
  },
  out: {
    type: "string",
    description:
      "The folder; by default capabilities/servers/pending, and for an approved server capabilities/servers/approved",
    valueHint: "DIR",
  },
  outputs: {
    type: "boolean",
    description: "Call every tool once that only reads and says nothing of its answer, to see what that is",
  },
} as const;

/** Fields that an emitter of a user's module must have. */
const emitterFields = {
  name: "string",
  extension: "string",
  type: "function",
  declaration: "function",
} as const;

/** Resolves the options of an export: the folder, and the emitter by its name or the path of its module. */
export async function resolveTarget(
  gateway: Gateway,
  { format, out }: { readonly format: string; readonly out?: string | undefined },
): Promise<{ folder: string; emitter: TypeEmitter }> {
  const names = [...gateway.drivers("emitter").keys()];
  if (!names.includes(format) && !/[./]/.test(format))
    throw usageError(`The option --format needs one of: ${names.join(", ")}.`);
  if (out === "") throw usageError("The option --out needs a value.");
  const emitter = await gateway.driver("emitter", format, join(process.cwd(), "format"));
  checkDriverFields("emitter", format, emitter, emitterFields);
  return { folder: resolve(out ?? PENDING_FOLDER), emitter };
}

interface Row {
  readonly server: string;
  readonly folder: string;
  readonly files: readonly string[];
  /** Reason why no file was written. */
  readonly reason?: string;
}

/** Writes the tools of servers to files. */
export const exportCommand: Command = defineCommand({
  many: true,
  args: {
    server: { type: "positional", required: false, description: "The servers; all by default" },
    ...exportArgs,
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run({ _: named, ...given }, context) {
    await context.open(
      given,
      async (gateway) => {
        const { folder, emitter } = await resolveTarget(gateway, given);
        for (const server of named) checkServer(gateway, server);
        const servers =
          named.length > 0 ? [...new Set(named)] : listServerRows(gateway).map(({ name }) => name);
        await askServers(
          gateway,
          unknownServers(gateway).filter(({ name }) => servers.includes(name)),
        );
        const rows: Row[] = [];
        for (const server of servers) {
          const trouble = findServerError(gateway, server);
          if (trouble && named.length > 0) throw trouble;
          const manifests = trouble ? [] : await collectManifests(gateway, server, given.outputs === true);
          // A folder that the user names is meant for everything.
          const place =
            (given.out === undefined ? await findApprovedFolder(gateway, server) : undefined) ?? folder;
          const written = await writeCapabilities({ folder: place, server, manifests, emitter });
          rows.push({
            server,
            folder: serverFolder(place, server),
            files: written.map(({ file }) => file),
            ...(trouble && { reason: trouble.message }),
          });
        }
        output(given.json, { exported: rows }, () => describe(gateway, rows));
      },
      { with: ["types"] },
    );
  },
});

/** Returns the folder of an approved server's files; undefined if the server was never approved. */
async function findApprovedFolder({ services }: Gateway, server: string): Promise<string | undefined> {
  const { state, approvals } = services;
  const config = services.servers?.status(server)?.config;
  if (!state || !approvals || !config) return undefined;
  const approved = (await readCapabilityRecord(state, server))?.approved;
  if (approved && approved.config === config.origin.file) {
    const hash = capabilitiesHash(approved.entry, approved.tools);
    return (await approvals.status(CAPABILITIES, server, hash)) === "approved" ? approved.folder : undefined;
  }
  if (config.origin.scope !== "project") return undefined;
  const status = await approvals.status("server", toServerKey(config), await hashDefinition(config));
  return status === "approved" ? approvedFolder(resolve(PENDING_FOLDER)) : undefined;
}

async function collectManifests(
  gateway: Gateway,
  server: string,
  outputs: boolean,
): Promise<readonly CapabilityManifest[]> {
  const config = gateway.services.servers?.status(server)?.config;
  const manifests: CapabilityManifest[] = [];
  const all = gateway.catalog.tools(server);
  const known = {
    servers: listServerRows(gateway).map(({ name }) => name),
    tools: all.map(({ name }) => name),
  };
  for (const tool of all.filter(({ enabled }) => enabled)) {
    const whole = outputs ? await withOutput(gateway, tool) : tool;
    manifests.push(config ? exportedTool(whole, config, known) : exportedOwnTool(whole, known));
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
  if (rows.length === 0) return explainNoServers(gateway);
  const lines = rows.map(({ server, folder, files, reason }) =>
    reason === undefined
      ? `✓ ${toTerminalLine(server)}: ${formatCount(files.length, "file")} in ${relative(process.cwd(), folder) || "."}`
      : `✗ ${toTerminalLine(server)}: ${toTerminalLine(reason)}`,
  );
  return `${lines.join("\n")}\n`;
}
