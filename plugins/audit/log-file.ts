import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { codeOf, ifThere, makeFolder, syncFolder } from "../lib/files.ts";
import { readPart, readTail } from "./tail.ts";

/** What was found as a file was made ready for the next lines. */
export interface Found {
  /** The hash of the last record in it. Looked for only where the file is a new one for us. */
  readonly last?: string | undefined;
  /** So many bytes of a line that was never finished were removed. */
  readonly cut?: number | undefined;
  /** Lines that were written before are gone from it: whoever copied it may have missed the last of them. */
  readonly shrunk?: boolean | undefined;
}

/** A file that only grows, by whole lines. It may be renamed, removed or emptied at any time. */
export interface LogFile {
  /** Makes it ready for the next lines. */
  prepare(): Promise<Found>;
  /** Adds whole lines, and returns once they are on the disk. Where it fails, none of them stays. */
  append(lines: Buffer): Promise<void>;
  close(): Promise<void>;
}

/** Another process is done with a write long before that. */
const TAIL_MS = 50;

/** A log file; it and its folder are made with the first lines. */
export function createLogFile(path: string): LogFile {
  let handle: FileHandle | undefined;
  /** The file as we left it. */
  let known: { readonly dev: number; readonly ino: number; readonly size: number } | undefined;
  /** What could not be written as a whole: a part of it may be in the file. */
  let tried: Buffer | undefined;

  return { prepare, append, close };

  async function prepare(): Promise<Found> {
    if (handle && !(await isOurs())) {
      await close();
      // The next file may get the same number from the disk, and is another one all the same.
      known = undefined;
    }
    const isOpen = handle !== undefined;
    try {
      return await lookAt();
    } catch (thrown) {
      await close();
      if (!isOpen) throw thrown;
      // The handle itself may have been the trouble.
      return lookAt();
    }
  }

  async function lookAt(): Promise<Found> {
    handle ??= await openPrivately(path);
    const stats = await handle.stat();
    if (!stats.isFile()) return {};
    const { dev, ino, size } = stats;
    const before = known?.dev === dev && known.ino === ino ? known : undefined;
    if (before?.size === size) return {};
    if (before && size < before.size) {
      known = { dev, ino, size };
      return { shrunk: true };
    }
    if (before && (await undo(handle, size))) return {};
    // A file that was there before us, or that another process writes to as well.
    const { last, cut } = await mendTail(handle, size);
    known = { dev, ino, size: (await handle.stat()).size };
    return { last, cut };
  }

  async function append(bytes: Buffer): Promise<void> {
    const opened = handle;
    if (!opened) throw new Error("The file is not open.");
    try {
      let done = 0;
      // A disk that is almost full takes a part and says nothing; what is left then tells why.
      while (done < bytes.length) {
        const { bytesWritten } = await opened.write(bytes, done, bytes.length - done, null);
        if (bytesWritten === 0) throw Object.assign(new Error("Nothing was written."), { code: "ENOSPC" });
        done += bytesWritten;
      }
      await sync(opened);
      if (known) known = { ...known, size: known.size + bytes.length };
    } catch (thrown) {
      tried = bytes;
      // At once where it can be done, since another process may write to the file as well.
      await opened
        .stat()
        .then(({ size }) => undo(opened, size))
        .catch(() => {});
      await close();
      throw thrown;
    }
  }

  /** Takes the part back of what could not be written as a whole, if nothing else has come since. */
  async function undo(opened: FileHandle, size: number): Promise<boolean> {
    if (!known || !tried || size < known.size || size - known.size > tried.length) return false;
    const part = await readPart(path, known.size, size);
    if (!tried.subarray(0, part.length).equals(part)) return false;
    if (size > known.size) await opened.truncate(known.size);
    tried = undefined;
    return true;
  }

  async function close(): Promise<void> {
    const opened = handle;
    handle = undefined;
    await opened?.close().catch(() => {});
  }

  /** Whether what we write to is still what others find under this name. */
  async function isOurs(): Promise<boolean> {
    const found = await ifThere(stat(path));
    return found !== undefined && (!known || (found.ino === known.ino && found.dev === known.dev));
  }

  async function mendTail(opened: FileHandle, size: number): Promise<Found> {
    const tail = await readTail(path, size);
    if (tail.torn === 0) return { last: tail.last };
    await sleep(TAIL_MS);
    const now = (await opened.stat()).size;
    if (now !== size) return mendTail(opened, now);
    await opened.truncate(size - tail.torn);
    return { last: tail.last, cut: tail.torn };
  }
}

async function openPrivately(path: string): Promise<FileHandle> {
  const isNew = (await ifThere(stat(path))) === undefined;
  if (isNew) await makeFolder(dirname(path));
  const handle = await open(path, "a", 0o600);
  // Its name must be on the disk too. Where that cannot be had, the records still are.
  if (isNew) await syncFolder(dirname(path)).catch(() => {});
  return handle;
}

async function sync(handle: FileHandle): Promise<void> {
  try {
    await handle.datasync();
  } catch (thrown) {
    // A pipe or a terminal has nothing to be kept on.
    const code = codeOf(thrown);
    if ((code !== "EINVAL" && code !== "ENOTSUP") || (await handle.stat()).isFile()) throw thrown;
  }
}
