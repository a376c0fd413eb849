import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import type { CapabilityManifest, TypeEmitter } from "../../../core/services/emitter.ts";
import { ifThere, removeIfEmpty, replaceFile, unlinkIfThere } from "../../lib/files.ts";
import { hashFile, sha256 } from "../../lib/hash.ts";
import { fileNames, folderName } from "./file-names.ts";
import type { ApprovedTool } from "./record.ts";

/** A file that was written. */
export interface WrittenCapability {
  /** The name of the tool that it is about. */
  readonly tool: string;
  /** Its name in the folder of its server. */
  readonly file: string;
  /** The SHA-256 of what was written. */
  readonly sha256: string;
}

/** Arguments of {@link writeCapabilities}. */
export interface WriteRequest {
  /** The folder that holds one folder for each server. */
  readonly folder: string;
  readonly server: string;
  readonly manifests: readonly CapabilityManifest[];
  /** All names that files are to be told apart by; those of these tools by default. */
  readonly names?: readonly string[];
  readonly emitter: TypeEmitter;
}

/** Returns the folder of a server, in a folder that holds one for each server. */
export function serverFolder(folder: string, server: string): string {
  return join(folder, folderName(server));
}

/** Writes one file for each tool of a server. Each is there wholly or not at all. */
export async function writeCapabilities(request: WriteRequest): Promise<readonly WrittenCapability[]> {
  const { server, manifests, emitter } = request;
  const folder = serverFolder(request.folder, server);
  await refuseLink(folder);
  const files = fileNames([...(request.names ?? []), ...manifests.map(({ provider }) => provider.toolName)]);
  const written: WrittenCapability[] = [];
  for (const manifest of manifests) {
    const tool = manifest.provider.toolName;
    const file = `${files.get(tool)}${emitter.extension}`;
    const text = emitter.declaration(manifest);
    await replaceFile(join(folder, file), { bytes: Buffer.from(text), mode: 0o644 });
    written.push({ tool, file, sha256: sha256(text) });
  }
  return written;
}

/** In a folder that others wrote, a link would have us write wherever it leads. */
async function refuseLink(folder: string): Promise<void> {
  if (!(await ifThere(lstat(folder)))?.isSymbolicLink()) return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${folder} is a link. Remove it, or name another folder with --out.`,
  );
}

/** Whether a file holds what was written to it. */
export async function isAsWritten(file: string, hash: string): Promise<boolean> {
  return (await ifThere(hashFile(file))) === hash;
}

/** The files of a server that were changed or removed since they were written. */
export async function editedFiles(
  server: string,
  folder: string,
  tools: readonly ApprovedTool[],
): Promise<readonly string[]> {
  const edited: string[] = [];
  for (const { file, sha256: hash } of tools) {
    const path = join(serverFolder(folder, server), file);
    if (!(await isAsWritten(path, hash))) edited.push(path);
  }
  return edited;
}

/** Removes the files of a server, but none that a person has changed: those are theirs. */
export async function removeWritten(
  server: string,
  folder: string,
  tools: readonly ApprovedTool[],
): Promise<void> {
  const own = serverFolder(folder, server);
  for (const { file, sha256: hash } of tools) {
    if (await isAsWritten(join(own, file), hash)) await unlinkIfThere(join(own, file));
  }
  await removeIfEmpty(own);
}
