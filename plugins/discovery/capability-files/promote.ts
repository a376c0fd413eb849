import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError, type JsonObject } from "../../../core/mod.ts";
import { replaceFile } from "../../lib/files.ts";
import { quoteForShell } from "../../lib/terminal/output.ts";
import { CAPABILITY_EDITED } from "../errors.ts";
import {
  type ApprovedServer,
  CAPABILITIES,
  type CapabilityRecord,
  capabilitiesHash,
  changeRecord,
  deleteRecord,
  type PendingServer,
  type PendingTool,
  readCapabilityRecord,
} from "./record.ts";
import { type ApprovalParts, approvedFolder } from "./request-approval.ts";
import { findEditedFiles, removeWritten, serverFolder } from "./write-capabilities.ts";

/** Arguments of {@link promote}. */
export interface Promotion {
  readonly server: string;
  /** One tool only; all that wait where it is left out. */
  readonly tool?: string | undefined;
  /** The config that the server is to be added to. */
  readonly config: string;
  /** Adds the server to that config; with these tools only, where not all that it has are approved. */
  register(server: string, entry: JsonObject, only: readonly string[] | undefined): Promise<void>;
}

/** Outcome of a promotion. */
export interface Promoted {
  readonly folder: string;
  readonly entry: JsonObject;
  readonly tools: readonly PendingTool[];
  /** Number of its tools that still need approval. */
  readonly left: number;
}

/**
 * Approves the pending tools of a server, moves their files to the approved ones, and registers the server. If this
 * fails half way, all tools are still pending, and it can be repeated.
 */
export async function promote(
  { store, approvals }: ApprovalParts,
  { server, tool, config, register }: Promotion,
): Promise<Promoted> {
  const before = await readCapabilityRecord(store, server);
  const pending = before?.pending;
  const chosen = pending?.tools.filter(({ name }) => tool === undefined || name === tool) ?? [];
  if (!pending || chosen.length === 0) {
    const what = tool === undefined ? server : `${server}:${tool}`;
    throw new GatewayError("TOOL_NOT_FOUND", `Nothing waits for approval under "${what}".`);
  }
  await refuseEdited(server, pending, chosen);
  const folder = approvedFolder(pending.folder);
  await copyFiles(serverFolder(pending.folder, server), serverFolder(folder, server), chosen);

  const approved = toApproved(before, pending, chosen, { config, folder });
  const waiting = pending.tools.filter((one) => !chosen.includes(one));
  // Without the approval that follows, what the record says is approved is held back all the same.
  await changeRecord(store, server, (now) => ({ ...now, approved }));
  const only = waiting.length > 0 ? approved.tools.map(({ name }) => name) : undefined;
  await register(server, pending.entry, only);
  await approvals.approve(CAPABILITIES, server, capabilitiesHash(approved.entry, approved.tools));
  await changeRecord(store, server, ({ pending: _done, ...now }) =>
    waiting.length > 0 ? { ...now, pending: { ...pending, tools: waiting } } : now,
  );
  await removeWritten(server, pending.folder, chosen);
  return { folder: serverFolder(folder, server), entry: pending.entry, tools: chosen, left: waiting.length };
}

/** Keeps earlier approvals of the same definition; another definition keeps none. */
function toApproved(
  before: CapabilityRecord,
  { entry }: PendingServer,
  chosen: readonly PendingTool[],
  place: Pick<ApprovedServer, "config" | "folder">,
): ApprovedServer {
  const isSame =
    before.approved && capabilitiesHash(before.approved.entry, []) === capabilitiesHash(entry, []);
  const names = new Set(chosen.map(({ name }) => name));
  const kept = isSame ? (before.approved?.tools.filter(({ name }) => !names.has(name)) ?? []) : [];
  const added = chosen.map(({ name, hash, file, sha256 }) => ({ name, hash, file, sha256 }));
  return { entry, ...place, tools: [...kept, ...added] };
}

async function refuseEdited(
  server: string,
  pending: PendingServer,
  chosen: readonly PendingTool[],
): Promise<void> {
  const edited = await findEditedFiles(server, pending.folder, chosen);
  if (edited.length === 0) return;
  const more = edited.length > 3 ? `, and ${edited.length - 3} more` : "";
  throw new GatewayError(
    CAPABILITY_EDITED,
    `Nothing was approved: these files are not as they were written: ${edited.slice(0, 3).join(", ")}${more}. Write them again with: toolpipe introspect ${quoteForShell(server)}`,
    { data: { server } },
  );
}

async function copyFiles(from: string, to: string, tools: readonly PendingTool[]): Promise<void> {
  for (const { file } of tools) {
    await replaceFile(join(to, file), { bytes: await readFile(join(from, file)), mode: 0o644 });
  }
}

/**
 * Withdraws the approval of a server and its request; false if there is none. Its tools are held
 * back from the first step on: if this fails half way, no more tools can be called than before.
 */
export async function withdraw(
  { store, approvals }: ApprovalParts,
  server: string,
  unregister: (config: string) => Promise<void>,
): Promise<boolean> {
  const record = await readCapabilityRecord(store, server);
  if (!record) return false;
  const { pending, approved } = record;
  await approvals.revoke(CAPABILITIES, server);
  if (approved) {
    await unregister(approved.config);
    await removeWritten(server, approved.folder, approved.tools);
  }
  if (pending) await removeWritten(server, pending.folder, pending.tools);
  await deleteRecord(store, server);
  return true;
}
