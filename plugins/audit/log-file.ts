import { type FileHandle, open, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { sleep } from "../lib/backoff.ts";
import { getErrorCode, ifExists, makeFolder, syncFolder } from "../lib/files.ts";

/** State of a log file before the next lines. */
export interface LogState {
  /** Hash of the last record; only for a file that this process has not written to. */
  readonly last?: string | undefined;
  /** Bytes of an unfinished line that were removed. */
  readonly cut?: number | undefined;
  /** Whether earlier lines are gone: a rotation by copying may have missed the last of them. */
  readonly shrunk?: boolean | undefined;
}

/** Longer than a write of another process takes. */
const TAIL_MS = 50;

/**
 * Creates a file that grows by whole lines. Other programs may rename, remove or empty it at any time. The file and its
 * folder are made with the first lines.
 */
export function createLogFile(path: string) {
  let handle: FileHandle | undefined;
  /** The file after our last write. */
  let known: { readonly dev: number; readonly ino: number; readonly size: number } | undefined;
  /** Lines whose write failed: a part of them may be in the file. */
  let failed: Buffer | undefined;

  return { prepare, append, close };

  /** Opens the file, and repairs its end. */
  async function prepare(): Promise<LogState> {
    if (handle && !(await isSameFile())) {
      await close();
      // The next file may get the same inode.
      known = undefined;
    }
    const isOpen = handle !== undefined;
    try {
      return await inspect();
    } catch (thrown) {
      await close();
      if (!isOpen) throw thrown;
      // The handle itself may be the cause.
      return inspect();
    }
  }

  async function inspect(): Promise<LogState> {
    handle ??= await openForAppend(path);
    const stats = await handle.stat();
    if (!stats.isFile()) return {};
    const { dev, ino, size } = stats;
    const before = known?.dev === dev && known.ino === ino ? known : undefined;
    if (before?.size === size) return {};
    if (before && size < before.size) {
      known = { dev, ino, size };
      return { shrunk: true };
    }
    if (before && (await removePart(handle, size))) return {};
    // The file is older than this process, or another process writes to it as well.
    const { last, cut } = await repairTail(handle, size);
    known = { dev, ino, size: (await handle.stat()).size };
    return { last, cut };
  }

  /** Adds whole lines and syncs them to the disk. If that fails, none of them stays. */
  async function append(bytes: Buffer): Promise<void> {
    const opened = handle;
    if (!opened) throw new Error(`${path} is not open.`);
    try {
      let done = 0;
      // A disk that is almost full writes a part without an error; writing the rest then fails with one.
      while (done < bytes.length) {
        const { bytesWritten } = await opened.write(bytes, done, bytes.length - done, null);
        if (bytesWritten === 0)
          throw Object.assign(new Error(`${path}: nothing was written.`), { code: "ENOSPC" });
        done += bytesWritten;
      }
      await sync(opened);
      if (known) known = { ...known, size: known.size + bytes.length };
    } catch (thrown) {
      failed = bytes;
      // At once if possible, since another process may write to the file as well.
      await opened
        .stat()
        .then(({ size }) => removePart(opened, size))
        .catch(() => {});
      await close();
      throw thrown;
    }
  }

  /** Removes the written part of the failed lines, if nothing was written after it. */
  async function removePart(opened: FileHandle, size: number): Promise<boolean> {
    if (!known || !failed || size < known.size || size - known.size > failed.length) return false;
    const part = await readPart(path, known.size, size);
    if (!failed.subarray(0, part.length).equals(part)) return false;
    if (size > known.size) await opened.truncate(known.size);
    failed = undefined;
    return true;
  }

  async function close(): Promise<void> {
    const opened = handle;
    handle = undefined;
    await opened?.close().catch(() => {});
  }

  /** Checks that the open file is still the one at the path. */
  async function isSameFile(): Promise<boolean> {
    const found = await ifExists(stat(path));
    return found !== undefined && (!known || (found.ino === known.ino && found.dev === known.dev));
  }

  async function repairTail(opened: FileHandle, size: number): Promise<LogState> {
    const tail = await readTail(path, size);
    if (tail.torn === 0) return { last: tail.last };
    await sleep(TAIL_MS);
    const now = (await opened.stat()).size;
    if (now !== size) return repairTail(opened, now);
    await opened.truncate(size - tail.torn);
    return { last: tail.last, cut: tail.torn };
  }
}

async function openForAppend(path: string): Promise<FileHandle> {
  const isNew = (await ifExists(stat(path))) === undefined;
  if (isNew) await makeFolder(dirname(path));
  const handle = await open(path, "a", 0o600);
  // The name must be on the disk too; if that fails, the records still are.
  if (isNew) await syncFolder(dirname(path)).catch(() => {});
  return handle;
}

async function sync(handle: FileHandle): Promise<void> {
  try {
    await handle.datasync();
  } catch (thrown) {
    // A pipe or a terminal cannot be synced.
    const code = getErrorCode(thrown);
    if ((code !== "EINVAL" && code !== "ENOTSUP") || (await handle.stat()).isFile()) throw thrown;
  }
}

const CHUNK = 65_536;
const NEWLINE = 10;

/** Reads the end of a file of this size. */
async function readTail(path: string, size: number) {
  if (size === 0) return { last: undefined, torn: 0 };
  const handle = await open(path, "r");
  try {
    for (let length = CHUNK; ; length *= 4) {
      const bytes = await readBytes(handle, Math.max(0, size - length), size);
      const end = bytes.lastIndexOf(NEWLINE);
      const start = end <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1);
      if (start < 0 && bytes.length < size) continue;
      const torn = bytes.length - end - 1;
      return {
        /** Hash of the last record, if the last whole line is one. */
        last: end < 0 ? undefined : parseHash(bytes.subarray(start + 1, end)),
        /** Bytes after the last whole line. */
        torn,
      };
    }
  } finally {
    await handle.close();
  }
}

/** Reads the bytes between two offsets. */
async function readPart(path: string, from: number, to: number): Promise<Buffer> {
  if (from === to) return Buffer.alloc(0);
  const handle = await open(path, "r");
  try {
    return await readBytes(handle, from, to);
  } finally {
    await handle.close();
  }
}

async function readBytes(handle: FileHandle, from: number, to: number): Promise<Buffer> {
  const bytes = Buffer.alloc(to - from);
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, from + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

function parseHash(line: Buffer): string | undefined {
  try {
    const { hash } = JSON.parse(line.toString()) as { hash?: unknown };
    return typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) ? hash : undefined;
  } catch {
    return undefined;
  }
}
