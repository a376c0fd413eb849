import { dirname, join } from "node:path";
import type { JsonObject, ToolDefinition } from "../../core/mod.ts";
import type { Approvals } from "../approvals.ts";
import { definitionHash } from "../guard/definition.ts";
import type { StateStore } from "../state/mod.ts";
import type { TypeEmitter } from "../types/emitter.ts";
import type { CapabilityManifest } from "../types/manifest.ts";
import { removeWritten } from "./pending-files.ts";
import { CAPABILITIES, capabilitiesHash, changeRecord, type PendingTool, readRecord } from "./record.ts";
import { serverFolder, writeCapabilities } from "./write-capabilities.ts";

/** Where approvals and records are kept. */
export interface ApprovalParts {
  readonly store: StateStore;
  readonly approvals: Approvals;
}

/** A server that was introspected. */
export interface Introspected {
  readonly server: string;
  /** How it is reached, as it would stand in a config. */
  readonly entry: JsonObject;
  /** Its tools as it defines them, each with what is written of it. */
  readonly tools: readonly { readonly tool: ToolDefinition; readonly manifest: CapabilityManifest }[];
  /** What a person is shown of the server; no secret may be in it. */
  readonly summary: string;
}

/** What came of a request. */
export interface Requested {
  /** Where the files are. */
  readonly folder: string;
  /** The tools that wait: those that nobody has approved as they are now. */
  readonly waiting: readonly PendingTool[];
  /** How many were approved as they are now. */
  readonly unchanged: number;
}

/** The folder where pending capabilities are written by default, and the one they are promoted to. */
export const PENDING_FOLDER: string = join("capabilities", "servers", "pending");

/** Where the files of a folder of pending ones go once they are approved. */
export function approvedFolder(pending: string): string {
  return join(dirname(pending), "approved");
}

/** Writes what a server offers to files that wait, and asks for its approval. Nothing of it can be called for that. */
export async function requestApproval(
  { store, approvals }: ApprovalParts,
  { server, entry, tools, summary }: Introspected,
  { folder, emitter }: { readonly folder: string; readonly emitter: TypeEmitter },
): Promise<Requested> {
  const before = await readRecord(store, server);
  const hashes = new Map(tools.map(({ tool }) => [tool.name, definitionHash(tool)]));
  const isSameServer =
    before?.approved !== undefined &&
    capabilitiesHash(entry, []) === capabilitiesHash(before.approved.entry, []);
  const known = new Map(isSameServer ? before?.approved?.tools.map(({ name, hash }) => [name, hash]) : []);
  const asked = tools.filter(({ tool }) => known.get(tool.name) !== hashes.get(tool.name));
  const written = await writeCapabilities({
    folder,
    server,
    emitter,
    manifests: asked.map(({ manifest }) => manifest),
    // Those that are approved already keep the names they have.
    names: tools.map(({ tool }) => tool.name),
  });
  const waiting = asked.map(({ tool, manifest }, index): PendingTool => {
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
  return { folder: serverFolder(folder, server), waiting, unchanged: tools.length - waiting.length };
}

const LONGEST = 200;

function firstSentence(description: string): string {
  const [first = ""] = description.trim().split(/\n|(?<=[.!?])\s/, 1);
  return first.length > LONGEST ? `${first.slice(0, LONGEST)}…` : first;
}
