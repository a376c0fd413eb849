import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { mkdir, open, readdir, readFile, realpath, rename, rm, rmdir, stat, unlink } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { CacheStorage } from "../../core/services/cache.ts";

/** Content and mode of a file. */
export interface FileState {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** Follows a link: managers of dotfiles replace files by links, which must stay. */
export async function resolveLink(file: string): Promise<string> {
  return (await ifExists(realpath(file))) ?? file;
}

/** Reads a file with its mode; undefined if it does not exist. */
export async function readFileState(file: string): Promise<FileState | undefined> {
  const handle = await ifExists(open(file, "r"));
  if (!handle) return undefined;
  try {
    const { mode } = await handle.stat();
    return { bytes: await handle.readFile(), mode: mode & 0o777 };
  } finally {
    await handle.close();
  }
}

/**
 * Replaces or creates a file atomically: a reader, and a start after a power failure, finds the old content or the
 * new one.
 */
export async function replaceFile(file: string, state: FileState): Promise<void> {
  try {
    await makeFolder(dirname(file));
    await writeAtomically(file, state, true);
  } catch (cause) {
    const message = `${file}: cannot be written (${getErrorCode(cause) ?? "the system refused it"}).`;
    throw new GatewayError("CONFIG_INVALID", message, { cause });
  }
  await syncFolder(dirname(file)).catch(() => {});
}

async function writeAtomically(file: string, { bytes, mode }: FileState, isSynced: boolean): Promise<void> {
  const draft = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString("hex")}${DRAFT}`);
  try {
    const owner = await stat(file).catch(() => undefined);
    const handle = await open(draft, "wx", 0o600);
    try {
      await handle.writeFile(bytes);
      // The owner stays the same, even if another user changes the file.
      if (owner) await handle.chown(owner.uid, owner.gid).catch(() => {});
      await handle.chmod(mode);
      if (isSynced) await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(draft, file);
  } catch (thrown) {
    await unlink(draft).catch(() => {});
    throw thrown;
  }
}

const DRAFT = ".draft";
const HOUR_MS = 3_600_000;

/**
 * Stores each key in a file of a folder, written atomically: a reader sees the old file or the new one. The driver of
 * unstorage takes 5 ms of every start to load.
 */
export function fileStorage(folder: string): CacheStorage {
  const base = resolve(folder);
  let swept = false;
  return {
    getItemRaw: (name) => ifExists(readFile(join(base, name))),
    async setItemRaw(name, value) {
      await makeFolders(base);
      const bytes = typeof value === "string" ? Buffer.from(value) : (value as Uint8Array);
      // What servers offer a user is private. A cache need not be on the disk at once: it can be written again.
      await writeAtomically(join(base, name), { bytes, mode: 0o600 }, false);
      if (!swept) await sweep(base);
      swept = true;
    },
    removeItem: (name) => rm(join(base, name), { force: true }),
    async getKeys() {
      const entries = (await ifExists(readdir(base, { withFileTypes: true }))) ?? [];
      return entries.flatMap((entry) => (entry.isFile() ? entry.name : []));
    },
  };
}

/** Removes drafts of processes that were killed while they wrote. */
async function sweep(base: string): Promise<void> {
  for (const name of (await readdir(base)).filter((each) => each.endsWith(DRAFT))) {
    const file = join(base, name);
    const written = await stat(file).catch(() => undefined);
    if (written && Date.now() - written.mtimeMs > HOUR_MS) await rm(file, { force: true });
  }
}

/** Returns the code of a file system error, such as `ENOENT`. */
export function getErrorCode(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException | null)?.code;
}

/** Awaits a file operation; undefined if the file does not exist. */
export async function ifExists<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (thrown) {
    const code = getErrorCode(thrown);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw thrown;
  }
}

/** Writes a file that is not there yet, and returns once it is on the disk. */
export async function writeNewFile(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/**
 * Creates a private folder and its parents; returns the first that was missing. Not by the option `recursive`: that never
 * returns where the system refuses a folder as if its parent were missing, as under `/proc`.
 */
export async function makeFolders(folder: string, isLast = false): Promise<string | undefined> {
  try {
    await mkdir(folder, { mode: 0o700 });
    return folder;
  } catch (thrown) {
    if (isFolder(folder)) return undefined;
    const parent = dirname(folder);
    if (!isMissing(thrown) || parent === folder || isLast) throw thrown;
    // Another process may have created it meanwhile.
    const first = existsSync(parent) ? undefined : await makeFolders(parent);
    const own = await makeFolders(folder, true);
    return first ?? own;
  }
}

/** Creates a private folder and its parents at once, as {@link makeFolders} does. */
export function makeFoldersSync(folder: string, isLast = false): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (thrown) {
    if (isFolder(folder)) return;
    const parent = dirname(folder);
    if (!isMissing(thrown) || parent === folder || isLast) throw thrown;
    if (!existsSync(parent)) makeFoldersSync(parent);
    makeFoldersSync(folder, true);
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function isMissing(thrown: unknown): boolean {
  return (thrown as { readonly code?: unknown }).code === "ENOENT";
}

/** Creates a private folder and its parents, and returns once they are on the disk. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await makeFolders(resolve(folder));
  if (first === undefined) return;
  const top = dirname(first);
  for (let parent = dirname(folder); parent.length >= top.length; parent = dirname(parent)) {
    // A folder that others own may be closed to reading; names in it are none of ours to lose.
    await syncFolder(parent).catch(() => {});
    if (parent === top) break;
  }
}

/** Returns once the names in a folder are on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows writes names in order by itself.
  if (process.platform === "win32") return;
  const handle = await ifExists(open(folder, "r"));
  if (!handle) return;
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Renames a file; false if it does not exist. */
export async function renameIfExists(from: string, to: string): Promise<boolean> {
  return (await ifExists(rename(from, to).then(() => true))) ?? false;
}

/** Removes a file, and says whether it was there. */
export async function unlinkIfExists(file: string): Promise<boolean> {
  return (await ifExists(unlink(file).then(() => true))) ?? false;
}

/** Removes a folder if it is empty. */
export async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}

/** Reads a file; undefined if it does not exist, empty if it is larger than this. */
export async function readIfExists(file: string, maxBytes: number): Promise<string | undefined> {
  const size = (await ifExists(stat(file)))?.size;
  if (size === undefined) return undefined;
  return size > maxBytes ? "" : ifExists(readFile(file, "utf8"));
}

/** Lists the names in a folder; none if it does not exist. */
export async function listFolder(folder: string): Promise<string[]> {
  return (await ifExists(readdir(folder))) ?? [];
}
