import { type Gateway, GatewayError, type JsonObject } from "../../core/mod.ts";
import type { ApprovalKind, PendingApproval } from "../../core/services/approvals.ts";
import type { Held, ServerStatus } from "../../core/services/servers.ts";
import { type ServerConfig, toServerKey } from "../../core/services/sources.ts";
import { hashServer } from "../lib/hash.ts";
import { quoteForShell } from "../lib/terminal/shell.ts";

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
  const why = await findRefusalReason(gateway, config);
  if (why === undefined) return undefined;
  return {
    status: "needs-approval",
    reason: `It is defined in the project file ${where}, and ${why}. Approve it with: toolpipe approve ${quoteForShell(config.name)}`,
  };
}

async function findRefusalReason(gateway: Gateway, config: ServerConfig): Promise<string | undefined> {
  const { approvals } = gateway.services;
  const [name, hash] = [toServerKey(config), hashServer(config)];
  try {
    const status = await approvals?.status(KIND, name, hash);
    if (status === "approved") return undefined;
    await approvals?.request(KIND, name, hash, toSummary(config));
    return status === "changed"
      ? "its definition has changed since it was approved"
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
        const { summarizeDefinition } = await import("../lib/terminal/definition.ts");
        const hash = hashServer(config);
        const status = await services.approvals?.status(KIND, toServerKey(config), hash).catch(() => {});
        // Approved, and about to be connected.
        if (status === "approved") continue;
        items.push({
          kind: KIND,
          id: name,
          status: status === "changed" ? "changed" : "pending",
          hash,
          summary: toSummary(config),
          reason,
          details: summarizeDefinition(config) as unknown as JsonObject,
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

/** Leaves out what may be secret: arguments, the values of variables, and the user, query and fragment of a URL. */
function toSummary({ connection }: ServerConfig): string {
  if (connection.type !== "stdio") {
    return `A server at ${connection.url.replace(/^(\w+:\/\/)[^/]*@/, "$1").replace(/[?#].*$/s, "")}`;
  }
  const variables = Object.keys(connection.env);
  return `The command ${connection.command} with ${connection.args.length} arguments${
    variables.length > 0 ? ` and the variables ${variables.join(", ")}` : ""
  }`;
}
