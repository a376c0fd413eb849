import { lstat } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import type { CapabilityManifest, TypeEmitter } from "../../../core/services/emitter.ts";
import { ifExists, removeIfEmpty, replaceFile, unlinkIfExists } from "../../lib/files.ts";
import { hashFile, sha256Hex } from "../../lib/hash.ts";
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
  return join(folder, chooseFolderName(server));
}

/** Writes one file for each tool of a server. Each is there wholly or not at all. */
export async function writeCapabilities(request: WriteRequest): Promise<readonly WrittenCapability[]> {
  const { server, manifests, emitter } = request;
  const folder = serverFolder(request.folder, server);
  await refuseLink(folder);
  const files = chooseFileNames([
    ...(request.names ?? []),
    ...manifests.map(({ provider }) => provider.toolName),
  ]);
  const written: WrittenCapability[] = [];
  for (const manifest of manifests) {
    const tool = manifest.provider.toolName;
    const file = `${files.get(tool)}${emitter.extension}`;
    const text = emitter.declaration(manifest);
    await replaceFile(join(folder, file), { bytes: Buffer.from(text), mode: 0o644 });
    written.push({ tool, file, sha256: sha256Hex(text) });
  }
  return written;
}

/** In a folder that others wrote, a link would have us write wherever it leads. */
async function refuseLink(folder: string): Promise<void> {
  if (!(await ifExists(lstat(folder)))?.isSymbolicLink()) return;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${folder} is a link. Remove it, or name another folder with --out.`,
  );
}

/** Whether a file holds what was written to it. */
async function isAsWritten(file: string, hash: string): Promise<boolean> {
  return (await ifExists(hashFile(file))) === hash;
}

/** Lists the files of a server that were changed or removed since they were written. */
export async function findEditedFiles(
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

/** Removes the files of a server, except those that the user has changed. */
export async function removeWritten(
  server: string,
  folder: string,
  tools: readonly ApprovedTool[],
): Promise<void> {
  const own = serverFolder(folder, server);
  for (const { file, sha256: hash } of tools) {
    if (await isAsWritten(join(own, file), hash)) await unlinkIfExists(join(own, file));
  }
  await removeIfEmpty(own);
}

const LONGEST = 80;
/** Windows takes these for devices, whatever follows the first dot. */
const DEVICE = /^(?:con|prn|aux|nul|conin|conout|com\d|lpt\d)(?:$|\.)/i;

/** A name that ends like this gets a hash too: no name can be chosen that is the file name of another. */
const LIKE_HASHED = /-[0-9a-f]{12}$/i;

/**
 * Chooses a file name for each of these untrusted names of servers and tools: letters, digits,
 * `_`, `-` and dots within, never a path, never a device, and no two that one file system takes for the same.
 */
export function chooseFileNames(names: Iterable<string>): ReadonlyMap<string, string> {
  const all = [...new Set(names)].toSorted();
  const taken = new Set<string>();
  const given = new Map<string, string>();
  const take = (name: string, file: string): boolean => {
    if (taken.has(file.toLowerCase())) return false;
    taken.add(file.toLowerCase());
    given.set(name, file);
    return true;
  };
  // Plain names come first, so that no generated name takes theirs.
  const plain = all.filter(isPlain);
  const odd = all.filter((name) => !isPlain(name));
  for (const name of plain) if (name === name.toLowerCase()) take(name, name);
  for (const name of plain) if (name !== name.toLowerCase() && !take(name, name)) odd.push(name);
  for (const name of odd) {
    const file = addHash(name);
    for (let number = 1; !take(name, number === 1 ? file : `${file}-${number}`); number++);
  }
  return given;
}

/** Chooses the folder name of a server. One in capitals gets a hash too: other servers are not known here. */
export function chooseFolderName(server: string): string {
  return isPlain(server) && server === server.toLowerCase() ? server : addHash(server);
}

function isPlain(name: string): boolean {
  const isName = name.length <= LONGEST && /^[A-Za-z0-9_](?:[\w.-]*[\w-])?$/.test(name);
  return isName && !DEVICE.test(name) && !LIKE_HASHED.test(name);
}

function addHash(name: string): string {
  const safe = name
    .replace(/[^\w-]+/g, "_")
    .replace(/^(?:-+|$)/, "_")
    .slice(0, LONGEST - 20);
  return `${safe}-${sha256Hex(name).slice(0, 12)}`;
}
