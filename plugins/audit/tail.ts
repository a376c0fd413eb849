import { type FileHandle, open } from "node:fs/promises";

/** The end of a file of lines. */
export interface Tail {
  /** The hash of the last record, where the last whole line is one. */
  readonly last: string | undefined;
  /** How many bytes come after the last whole line. */
  readonly torn: number;
}

const CHUNK = 65_536;
const NEWLINE = 10;

/** Reads the end of a file of this size. */
export async function readTail(path: string, size: number): Promise<Tail> {
  if (size === 0) return { last: undefined, torn: 0 };
  const handle = await open(path, "r");
  try {
    for (let length = CHUNK; ; length *= 4) {
      const bytes = await readBytes(handle, Math.max(0, size - length), size);
      const end = bytes.lastIndexOf(NEWLINE);
      const start = end <= 0 ? -1 : bytes.lastIndexOf(NEWLINE, end - 1);
      if (start < 0 && bytes.length < size) continue;
      const torn = bytes.length - end - 1;
      return { last: end < 0 ? undefined : hashIn(bytes.subarray(start + 1, end)), torn };
    }
  } finally {
    await handle.close();
  }
}

/** The bytes of a file from one place to another. */
export async function readPart(path: string, from: number, to: number): Promise<Buffer> {
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

function hashIn(line: Buffer): string | undefined {
  try {
    const { hash } = JSON.parse(line.toString()) as { hash?: unknown };
    return typeof hash === "string" && /^[0-9a-f]{64}$/.test(hash) ? hash : undefined;
  } catch {
    return undefined;
  }
}
