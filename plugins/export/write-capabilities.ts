import { createHash } from "node:crypto";
import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import { replaceFile } from "../_replace-file.ts";
import { ifThere } from "../state/_files.ts";
import type { TypeEmitter } from "../types/emitter.ts";
import type { CapabilityManifest } from "../types/manifest.ts";
import { fileNames, folderName } from "./file-names.ts";

/** A file that was written. */
export interface WrittenCapability {
  /** The name of the tool that it is about. */
  readonly tool: string;
  /** Its name in the folder of its server. */
  readonly file: string;
  /** The SHA-256 of what was written. */
  readonly sha256: string;
}

/** What {@link writeCapabilities} is given. */
export interface WriteRequest {
  /** The folder that holds one folder for each server. */
  readonly folder: string;
  readonly server: string;
  readonly manifests: readonly CapabilityManifest[];
  /** All names that files are to be told apart by; those of these tools by default. */
  readonly names?: readonly string[];
  readonly emitter: TypeEmitter;
}

/** Where the files of a server are, in a folder that holds one folder for each server. */
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

/** The SHA-256 of a text or of bytes. */
export function sha256(content: string | Uint8Array): string {
  return createHash("sha256").update(content).digest("hex");
}
