import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifThere, removeIfEmpty, unlinkIfThere } from "../state/_files.ts";
import type { ApprovedTool } from "./record.ts";
import { serverFolder, sha256 } from "./write-capabilities.ts";

/** Whether a file holds what was written to it. */
export async function isAsWritten(file: string, hash: string): Promise<boolean> {
  const bytes = await ifThere(readFile(file));
  return bytes !== undefined && sha256(bytes) === hash;
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
