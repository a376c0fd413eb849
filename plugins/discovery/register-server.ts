import { resolve } from "node:path";
import { type Gateway, GatewayError, type JsonObject, type ToolDefinition } from "../../core/mod.ts";
import type { CapabilityManifest } from "../../core/services/emitter.ts";
import { NEEDS_APPROVAL } from "../../core/services/servers.ts";
import { type Connection, type ServerConfig, toServerKey } from "../../core/services/sources.ts";
import { hashServer } from "../lib/hash.ts";
import { normalizeEntry } from "../lib/server-entry/normalize.ts";
import { quoteForShell } from "../lib/terminal/output.ts";
import {
  CAPABILITIES,
  capabilitiesHash,
  readCapabilityRecord,
  requireStore,
} from "./capability-files/record.ts";
import {
  type ApprovalParts,
  PENDING_FOLDER,
  type Requested,
  requestApproval,
} from "./capability-files/request-approval.ts";
import type { Registration } from "./discovered.ts";

/** Tools of a server, each with the capability that is written of it. */
interface Registered {
  readonly config: ServerConfig;
  readonly tools: readonly { readonly tool: ToolDefinition; readonly manifest: CapabilityManifest }[];
}

/**
 * Adds the tools of a server to the catalog of a gateway. Those of the gateway's own servers are in it; any other
 * server waits for approval, and is added once it is approved.
 */
export async function registerServer(gateway: Gateway, given: Registered): Promise<Registration> {
  const { config, tools } = given;
  const { servers } = gateway.services;
  const own = servers?.status(config.name)?.config;
  if (own && toServerKey(own) === toServerKey(config) && hashServer(own) === hashServer(config)) {
    const isListed = tools.every(({ tool }) => gateway.catalog.tool(`${config.name}:${tool.name}`));
    if (!isListed) await servers?.refresh(config.name);
    return "registered";
  }
  const { waiting } = await requestServer(gateway, given);
  if (waiting.length > 0) return "pending";
  await addApproved(gateway, config.name);
  return "registered";
}

/** Writes the tools of a server to pending files and requests approval. Tools that wait already keep waiting. */
export async function requestServer(gateway: Gateway, { config, tools }: Registered): Promise<Requested> {
  const { name } = config;
  const parts = approvalParts(gateway);
  const entry = toEntry(config);
  const record = await readCapabilityRecord(parts.store, name);
  const known = record?.pending?.entry ?? record?.approved?.entry;
  const isOther = known
    ? capabilitiesHash(known, []) !== capabilitiesHash(entry, [])
    : gateway.services.servers?.status(name) !== undefined;
  if (isOther) {
    throw new GatewayError("CONFIG_INVALID", `There is another server "${name}" already.`, {
      data: { server: name },
    });
  }
  const emitter = gateway.drivers("emitter").get("rtfs");
  if (!emitter)
    throw new GatewayError("PLUGIN_INVALID", 'The plugin "types" is missing. Add it to the config.');
  const summary = `The server ${name} with ${tools.length} tools`;
  const target = { folder: resolve(PENDING_FOLDER), emitter, isPart: true };
  return requestApproval(parts, { server: name, entry, tools, summary }, target);
}

/** Adds an approved server to the running gateway. Throws for a server that is not approved. */
export async function addApproved(gateway: Gateway, name: string): Promise<number> {
  const { store, approvals } = approvalParts(gateway);
  const approved = (await readCapabilityRecord(store, name))?.approved;
  const hash = approved && capabilitiesHash(approved.entry, approved.tools);
  const isApproved = hash !== undefined && (await approvals.status(CAPABILITIES, name, hash)) === "approved";
  if (!approved || !isApproved) {
    throw new GatewayError(
      NEEDS_APPROVAL,
      `The server "${name}" is not approved. Ask the user to review it and to run: toolpipe approve ${quoteForShell(name)}`,
      { data: { server: name } },
    );
  }
  const origin = { source: "inline", scope: "config", file: approved.config } as const;
  const { config, reason } = normalizeEntry({ name, entry: approved.entry }, origin);
  if (!config) throw new GatewayError("CONFIG_INVALID", `The server "${name}" cannot be used: ${reason}.`);
  await gateway.services.servers?.add(config);
  return approved.tools.length;
}

/** Returns the services that approving capabilities needs. */
export function approvalParts({ services }: Gateway): ApprovalParts {
  const { approvals } = services;
  if (approvals) return { store: requireStore(services), approvals };
  throw new GatewayError(
    "CONFIG_INVALID",
    'Nothing can be approved: the plugin "approvals" is missing. Add it to the plugins of the config.',
  );
}

/** Writes a definition as an entry of a config. */
function toEntry({ connection, tools, startTimeoutMs, callTimeoutMs }: ServerConfig): JsonObject {
  const entry = { ...toConnectionEntry(connection), tools, startTimeoutMs, callTimeoutMs };
  const isEmpty = (value: unknown): boolean =>
    value === undefined || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !isEmpty(value)));
}

function toConnectionEntry(connection: Connection): JsonObject {
  const { type, driver: _driver, ...rest } = connection;
  return type === "sse" ? { type, ...rest } : { ...rest };
}
