import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import type { ApprovalKind, PendingApproval } from "../../core/services/approvals.ts";
import type { Held, ServerStatus } from "../../core/services/servers.ts";
import { type ServerConfig, toServerKey } from "../../core/services/sources.ts";
import { isFromProjectFile, refuseLoaderVariables } from "../lib/server-entry/expand.ts";
import { quoteForShell, toTerminalLine } from "../lib/terminal/output.ts";

/** The kind of approval that a server of a project file needs. */
const KIND = "server";

/**
 * Gives the reason not to connect to a server, if there is one. A server of a project file needs approval: without it,
 * anyone who can write to the project could run commands and read variables of everyone who opens it.
 */
export async function holdBack(gateway: Gateway, config: ServerConfig): Promise<Held | undefined> {
  const where = config.origin.file ?? config.origin.source;
  if (config.disabled) return { status: "disconnected", reason: `It is switched off in ${where}.` };
  if (config.origin.scope !== "project") return undefined;
  const { connection } = config;
  const refused =
    connection.type === "stdio" && isFromProjectFile(config)
      ? refuseLoaderVariables(connection.env, `Its definition in ${where}`)
      : undefined;
  // Not one to approve: a value that looks harmless can load any file.
  if (refused !== undefined) return { status: "error", reason: toTerminalLine(refused) };
  const why = await findRefusalReason(gateway, config);
  if (why === undefined) return undefined;
  return {
    status: "needs-approval",
    reason: `It is defined in the project file ${where}, and ${why}. Approve it with: toolpipe approve ${quoteForShell(config.name)}`,
  };
}

async function findRefusalReason(gateway: Gateway, config: ServerConfig): Promise<string | undefined> {
  const { approvals } = gateway.services;
  const name = toServerKey(config);
  try {
    const hash = await (await loadDefinitions()).hashDefinition(config);
    const status = await approvals?.status(KIND, name, hash);
    if (status === "approved") return undefined;
    await approvals?.request(KIND, name, hash, await toSummary(config));
    return status === "changed"
      ? "its definition, or a local file that it names, has changed since it was approved"
      : "it has not been approved yet";
  } catch (thrown) {
    // Servers that need no approval are not affected.
    gateway.report(GatewayError.from(thrown, "The approvals could not be read."));
    return "its approval could not be read";
  }
}

/** Lists, approves and revokes servers of project files. */
export function createServerApprovals({ services }: Gateway): ApprovalKind {
  const getStatus = (id: string): ServerStatus | undefined => services.servers?.status(id);
  return {
    async pending() {
      const items: PendingApproval[] = [];
      for (const { name, status: state, config, reason } of services.servers?.statuses() ?? []) {
        if (state !== "needs-approval") continue;
        const { findDefinitionFiles, hashDefinition, summarizeDefinition } = await loadDefinitions();
        const hash = await hashDefinition(config);
        const files = await findDefinitionFiles(config);
        const status = await services.approvals?.status(KIND, toServerKey(config), hash).catch(() => {});
        // Approved, and about to be connected.
        if (status === "approved") continue;
        items.push({
          kind: KIND,
          id: name,
          status: status === "changed" ? "changed" : "pending",
          hash,
          summary: await toSummary(config),
          reason,
          details: {
            ...summarizeDefinition(config),
            ...(files.length > 0 && { files: [...files] }),
          } as JsonObject,
        });
      }
      return items;
    },
    async approve(items) {
      for (const { id, hash } of items) {
        const config = getStatus(id)?.config;
        if (!config) continue;
        await services.approvals?.approve(KIND, toServerKey(config), hash);
        // Not awaited: a server may take long to start.
        void services.servers?.recheck(id).catch(() => {});
      }
      return items;
    },
    async revoke(id) {
      const name = await findApproved(id);
      return name !== undefined && (await services.approvals?.revoke(KIND, name)) ? name : undefined;
    },
  };

  /** Finds the stored name of an approved server, which may be gone from its file, or the file with it. */
  async function findApproved(id: string): Promise<string | undefined> {
    const names = ((await services.approvals?.list()) ?? [])
      .filter(({ kind, approved }) => kind === KIND && approved)
      .map(({ name }) => name);
    const config = getStatus(id)?.config;
    const own = config && toServerKey(config);
    if (own !== undefined && names.includes(own)) return own;
    const found = names.filter((name) => name === id || name.startsWith(`${id} in `));
    if (found.length <= 1) return found[0];
    throw new GatewayError(
      "CONFIG_INVALID",
      `Several servers "${id}" are approved. Name the one you mean: ${found.map((name) => `"${name}"`).join(", ")}.`,
    );
  }
}

/** Loaded for servers of project files only: most starts have none. */
async function loadDefinitions() {
  const [files, definition] = await Promise.all([
    import("../lib/definition-files.ts"),
    import("../lib/terminal/definition.ts"),
  ]);
  return { ...files, ...definition };
}

/** All that decides, in one line: nothing is left out but what may be secret. */
async function toSummary(config: ServerConfig): Promise<string> {
  const { describeDefinition, summarizeDefinition } = await loadDefinitions();
  const [, ...lines] = describeDefinition(summarizeDefinition(config)).split("\n");
  return lines.map((line) => line.trim()).join("; ");
}
