import { dirname, join } from "node:path";
import type { JsonObject, ToolDefinition } from "../../../core/mod.ts";
import type { Approvals } from "../../../core/services/approvals.ts";
import type { CapabilityManifest, TypeEmitter } from "../../../core/services/emitter.ts";
import type { StateStore } from "../../../core/services/state.ts";
import { hashTool } from "../../lib/hash.ts";
import {
  CAPABILITIES,
  capabilitiesHash,
  changeRecord,
  type PendingTool,
  readCapabilityRecord,
} from "./record.ts";
import { removeWritten, serverFolder, writeCapabilities } from "./write-capabilities.ts";

/** Stores of approvals and records. */
export interface ApprovalParts {
  readonly store: StateStore;
  readonly approvals: Pick<Approvals, "status" | "request" | "approve" | "revoke">;
}

/** A server that was introspected. */
export interface Introspected {
  readonly server: string;
  /** Entry of the server, as in a config. */
  readonly entry: JsonObject;
  /** Its tools as it defines them, each with what is written of it. */
  readonly tools: readonly { readonly tool: ToolDefinition; readonly manifest: CapabilityManifest }[];
  /** Summary of the server for the user, without secrets. */
  readonly summary: string;
}

/** Outcome of a request for approval. */
export interface Requested {
  /** Folder of the files. */
  readonly folder: string;
  /** Tools that need approval: new ones, and those that have changed. */
  readonly waiting: readonly PendingTool[];
  /** Number of tools that are approved and unchanged. */
  readonly unchanged: number;
}

/** The folder where pending capabilities are written by default, and the one they are promoted to. */
export const PENDING_FOLDER: string = join("capabilities", "servers", "pending");

/** Returns the folder that files are moved to once they are approved. */
export function approvedFolder(pending: string): string {
  return join(dirname(pending), "approved");
}

/** Writes the tools of a server to pending files, and requests its approval. No tool can be called before that. */
export async function requestApproval(
  { store, approvals }: ApprovalParts,
  { server, entry, tools, summary }: Introspected,
  {
    folder,
    emitter,
    isPart = false,
  }: {
    readonly folder: string;
    readonly emitter: TypeEmitter;
    /** Whether the server may have other tools, so that those that wait already keep waiting. */
    readonly isPart?: boolean;
  },
): Promise<Requested> {
  const before = await readCapabilityRecord(store, server);
  const hashes = new Map(tools.map(({ tool }) => [tool.name, hashTool(tool)]));
  const isSameServer =
    before?.approved !== undefined &&
    capabilitiesHash(entry, []) === capabilitiesHash(before.approved.entry, []);
  const known = new Map(isSameServer ? before?.approved?.tools.map(({ name, hash }) => [name, hash]) : []);
  const asked = tools.filter(({ tool }) => known.get(tool.name) !== hashes.get(tool.name));
  const names = new Set(tools.map(({ tool }) => tool.name));
  const others =
    isPart && before?.pending?.folder === folder
      ? before.pending.tools.filter(({ name }) => !names.has(name))
      : [];
  const written = await writeCapabilities({
    folder,
    server,
    emitter,
    manifests: asked.map(({ manifest }) => manifest),
    // Approved tools keep their file names.
    names: [...names, ...others.map(({ name }) => name)],
  });
  const added = asked.map(({ tool, manifest }, index): PendingTool => {
    const { file = "", sha256 = "" } = written[index] ?? {};
    const { name, description = "" } = tool;
    const categories = [...manifest.categories];
    return {
      name,
      hash: hashes.get(name) ?? "",
      file,
      sha256,
      summary: firstSentence(description),
      categories,
    };
  });
  const waiting = [...others, ...added];
  const kept = new Set(waiting.map(({ file }) => file));
  const stale = before?.pending?.tools.filter(
    ({ file }) => before.pending?.folder !== folder || !kept.has(file),
  );
  await removeWritten(server, before?.pending?.folder ?? folder, stale ?? []);
  const pending = { entry, folder, format: emitter.name, at: new Date().toISOString(), tools: waiting };
  await changeRecord(store, server, ({ pending: _old, ...rest }) =>
    waiting.length > 0 ? { ...rest, pending } : rest,
  );
  if (waiting.length > 0) {
    await approvals.request(CAPABILITIES, server, capabilitiesHash(entry, waiting), summary);
  }
  return { folder: serverFolder(folder, server), waiting, unchanged: tools.length - added.length };
}

const LONGEST = 200;

function firstSentence(description: string): string {
  const [first = ""] = description.trim().split(/\n|(?<=[.!?])\s/, 1);
  return first.length > LONGEST ? `${first.slice(0, LONGEST)}…` : first;
}
