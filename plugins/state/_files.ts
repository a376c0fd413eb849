import { mkdir, open, readdir, readFile, rename, rmdir, stat, unlink } from "node:fs/promises";
import { dirname } from "node:path";

/** The code of a failure of the file system, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException | null)?.code;
}

/** What a step gives or, if what it is about is not there, nothing. */
export async function ifThere<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw thrown;
  }
}

/** Writes a file that is not there yet, and returns once it is on the disk. */
export async function writeNew(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a folder for nobody else, and those it is in, and returns once they are on the disk. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
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
  // Windows has no such thing: it writes names in order by itself.
  if (process.platform === "win32") return;
  const handle = await ifThere(open(folder, "r"));
  if (!handle) return;
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Renames, and says whether there was something of this name. */
export async function renameIfThere(from: string, to: string): Promise<boolean> {
  return (await ifThere(rename(from, to).then(() => true))) ?? false;
}

/** Removes a file, and says whether it was there. */
export async function unlinkIfThere(file: string): Promise<boolean> {
  return (await ifThere(unlink(file).then(() => true))) ?? false;
}

/** Removes a folder if it is empty; otherwise nothing happens. */
export async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}

/** The text of a file, if it is there; a file larger than this is empty. */
export async function textIfThere(file: string, maxBytes: number): Promise<string | undefined> {
  const size = (await ifThere(stat(file)))?.size;
  if (size === undefined) return undefined;
  return size > maxBytes ? "" : ifThere(readFile(file, "utf8"));
}

/** The names in a folder; none if it is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await ifThere(readdir(folder))) ?? [];
}
