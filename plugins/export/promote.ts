import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError, type JsonObject } from "../../core/mod.ts";
import { replaceFile } from "../_replace-file.ts";
import { CAPABILITY_EDITED } from "./errors.ts";
import { editedFiles, removeWritten } from "./pending-files.ts";
import {
  type ApprovedServer,
  CAPABILITIES,
  type CapabilityRecord,
  capabilitiesHash,
  changeRecord,
  type PendingServer,
  type PendingTool,
  readRecord,
} from "./record.ts";
import { type ApprovalParts, approvedFolder } from "./request-approval.ts";
import { serverFolder } from "./write-capabilities.ts";

/** What is to be promoted. */
export interface Promotion {
  readonly server: string;
  /** One tool only; all that wait where it is left out. */
  readonly tool?: string | undefined;
  /** The config that the server is to be added to. */
  readonly config: string;
  /** Adds the server to that config; with these tools only, where not all that it has are approved. */
  register(server: string, entry: JsonObject, only: readonly string[] | undefined): Promise<void>;
}

/** What was promoted. */
export interface Promoted {
  readonly folder: string;
  readonly entry: JsonObject;
  readonly tools: readonly PendingTool[];
  /** How many of its tools still wait. */
  readonly left: number;
}

/**
 * Approves what waits of a server, moves its files to those that are approved, and registers it. Should this end
 * half way, all of it still waits, and can be done again.
 */
export async function promote(
  { store, approvals }: ApprovalParts,
  { server, tool, config, register }: Promotion,
): Promise<Promoted> {
  const before = await readRecord(store, server);
  const pending = before?.pending;
  const chosen = pending?.tools.filter(({ name }) => tool === undefined || name === tool) ?? [];
  if (!pending || chosen.length === 0) {
    const what = tool === undefined ? server : `${server}:${tool}`;
    throw new GatewayError("TOOL_NOT_FOUND", `Nothing waits for approval under "${what}".`);
  }
  await refuseEdited(server, pending, chosen);
  const folder = approvedFolder(pending.folder);
  await copyFiles(serverFolder(pending.folder, server), serverFolder(folder, server), chosen);

  const approved = approvedOf(before, pending, chosen, { config, folder });
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

/** What was approved of the same server before stays so; of a server that is reached otherwise, nothing does. */
function approvedOf(
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
  const edited = await editedFiles(server, pending.folder, chosen);
  if (edited.length === 0) return;
  const more = edited.length > 3 ? `, and ${edited.length - 3} more` : "";
  throw new GatewayError(
    CAPABILITY_EDITED,
    `Nothing was approved: these files are not as they were written: ${edited.slice(0, 3).join(", ")}${more}. Write them again with: toolpipe introspect ${server}`,
    { data: { server } },
  );
}

async function copyFiles(from: string, to: string, tools: readonly PendingTool[]): Promise<void> {
  for (const { file } of tools) {
    await replaceFile(join(to, file), { bytes: await readFile(join(from, file)), mode: 0o644 });
  }
}
