import { Buffer } from "node:buffer";
import { resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { type Gateway, GatewayError, type JsonObject } from "../../../core/mod.ts";
import type { ApprovalKind, PendingApproval } from "../../../core/services/approvals.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { readOwnConfig } from "../../lib/config-file/changes.ts";
import { editJson } from "../../lib/config-file/edit-json.ts";
import { readFileState, replaceFile, resolveLink } from "../../lib/files.ts";
import { getOwnConfigFile, thisMachine } from "../../lib/server-entry/machine.ts";
import { normalizeEntry } from "../../lib/server-entry/normalize.ts";
import { summarizeDefinition } from "../../lib/terminal/definition.ts";
import { quoteForShell } from "../../lib/terminal/output.ts";
import { addApproved } from "../register-server.ts";
import { promote, withdraw } from "./promote.ts";
import {
  CAPABILITIES,
  type CapabilityRecord,
  capabilitiesHash,
  listRecords,
  type PendingServer,
  readCapabilityRecord,
} from "./record.ts";
import type { ApprovalParts } from "./request-approval.ts";

/** Lists, approves and revokes servers that were introspected. An approved server is added to a config. */
export function createCapabilityApprovals(gateway: Gateway, parts: ApprovalParts): ApprovalKind {
  return {
    async pending() {
      return (await listRecords(parts.store)).flatMap((record) =>
        record.pending ? [toItem(record, record.pending)] : [],
      );
    },
    async approve(items, { part, config }) {
      const approved: PendingApproval[] = [];
      for (const item of items) {
        const record = await readCapabilityRecord(parts.store, item.id);
        // Another process may have introspected the server again since the item was listed.
        if (!record?.pending || toHash(record.pending) !== item.hash) continue;
        approved.push({ ...item, details: await promoteRecord(record, part, config) });
      }
      return approved;
    },
    revoke: async (id) =>
      (await withdraw(parts, id, (file) => removeFromConfig(file, id))) ? id : undefined,
  };

  async function promoteRecord(
    { server, approved }: CapabilityRecord,
    tool: string | undefined,
    given: string | undefined,
  ): Promise<JsonObject> {
    const config = resolve(given ?? approved?.config ?? getOwnConfigFile(thisMachine()));
    await checkFree(config, server, approved?.config);
    const { entry, tools, folder, left } = await promote(parts, {
      server,
      tool,
      config,
      // Also where no gateway reads the record of what is approved, no other tool can be used.
      register: (name, definition, only) =>
        addToConfig(config, name, only ? { ...definition, tools: { include: only } } : definition),
    });
    // A gateway that runs gets the server at once. Not awaited: a server may take long to start.
    if (!gateway.services.servers?.status(server)) void addApproved(gateway, server).catch(() => {});
    const { configFile } = gateway;
    return {
      ...summarizeDefinition(introspectedConfig(server, entry)),
      tools: tools.map(({ name, summary, categories }) => ({ name, summary, categories: [...categories] })),
      folder,
      left,
      config,
      ...(configFile !== undefined && configFile !== config && { configInUse: configFile }),
    };
  }
}

/** Parses the entry of an introspected server. */
export function introspectedConfig(name: string, entry: JsonObject): ServerConfig {
  // Not the user's own until it is approved: no token of the user is sent to it before.
  const { config, reason } = normalizeEntry({ name, entry }, { source: "introspect", scope: "project" });
  if (config) return config;
  throw new GatewayError("CONFIG_INVALID", `The server "${name}" cannot be used: ${reason}.`);
}

function toItem({ server, approved }: CapabilityRecord, pending: PendingServer): PendingApproval {
  const { entry, folder, tools } = pending;
  return {
    kind: CAPABILITIES,
    id: server,
    status: approved ? "changed" : "pending",
    hash: toHash(pending),
    summary: `The server ${server} with ${tools.length} ${tools.length === 1 ? "tool" : "tools"}`,
    reason: `It was introspected, and has not been approved yet. Approve it with: toolpipe approve ${quoteForShell(server)}`,
    details: {
      ...summarizeDefinition(introspectedConfig(server, entry)),
      folder,
      tools: tools.map(({ name, summary, categories }) => ({ name, summary, categories: [...categories] })),
    },
    parts: tools.map(({ name }) => name),
  };
}

function toHash({ entry, tools }: PendingServer): string {
  return capabilitiesHash(entry, tools);
}

/** Refuses to replace a server that the user wrote into the config. */
async function checkFree(config: string, server: string, ours: string | undefined): Promise<void> {
  const { names } = await readOwnConfig(config);
  if (!names.has(server) || ours === config) return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `There is a server "${server}" in ${config} already. Introspect this one under another name with --as NAME.`,
  );
}

/** Adds a server to a config, or replaces its definition. */
async function addToConfig(given: string, name: string, entry: JsonObject): Promise<void> {
  const own = await readOwnConfig(given);
  if (own.isThere) {
    if (!isDeepStrictEqual(own.servers[name], entry)) await editServers(given, { put: { [name]: entry } });
    return;
  }
  // Without a config, the servers of the clients are used; a new config must not take them away.
  const content = { mcpServers: { [name]: entry }, options: { sources: { clients: "all" } } };
  const bytes = Buffer.from(`${JSON.stringify(content, null, 2)}\n`);
  await replaceFile(given, { bytes, mode: 0o600 });
}

/** Removes a server from a config, if it is there. */
async function removeFromConfig(given: string, name: string): Promise<void> {
  const { isThere, servers } = await readOwnConfig(given);
  if (isThere && Object.hasOwn(servers, name)) await editServers(given, { remove: [name] });
}

async function editServers(
  given: string,
  { put = {}, remove = [] }: { readonly put?: JsonObject; readonly remove?: readonly string[] },
): Promise<void> {
  const file = await resolveLink(given);
  const before = await readFileState(file);
  if (!before) return;
  const text = Buffer.from(before.bytes).toString("utf8");
  if (!Buffer.from(text).equals(before.bytes)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `${given} is not encoded in UTF-8. Convert it, and approve again.`,
    );
  }
  const after = Buffer.from(await editJson(text, { key: "mcpServers", remove, put }));
  // An entry may hold secrets: only its owner reads the file from now on.
  const mode = Object.keys(put).length > 0 ? 0o600 : before.mode;
  await replaceFile(file, { bytes: after, mode });
}
