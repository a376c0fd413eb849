import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AuditSink } from "../../core/services/audit.ts";
import { fileSink } from "./file.ts";

/** Where records are kept, and for how long. */
export interface AuditFolder {
  readonly folder: string;
  /** Files whose last record is older than this are removed. */
  readonly keepDays: number;
  /** Of more than this together, the oldest files are removed. */
  readonly maxBytes: number;
}

const DAY_MS = 86_400_000;
const PATTERN = /^\d{8}T\d{6}Z-(\d+)(?:-[0-9a-f]+)?\.jsonl$/;

/**
 * The same for everything in this process. Two processes never write to one file, so that neither spoils the other's;
 * in two containers both may have the same number.
 */
const ownName = [
  new Date().toISOString().replace(/[-:]|\.\d+/g, ""),
  process.pid,
  `${randomBytes(4).toString("hex")}.jsonl`,
].join("-");

/**
 * Appends records to a file of this process in a folder of such files. Nothing is made or removed before there is a
 * record: a command that executes nothing leaves nothing behind.
 */
export function folderSink(place: AuditFolder): Required<AuditSink> & { readonly file: string } {
  const file = join(place.folder, ownName);
  const sink = fileSink(file);
  let swept: Promise<void> | undefined;
  const begun = (): Required<AuditSink> => {
    swept ??= sweep(place).catch(() => {});
    return sink;
  };
  return {
    file,
    write: (record) => begun().write(record),
    writeSoon: (make, withinMs) => begun().writeSoon(make, withinMs),
    async close() {
      await swept;
      await sink.close();
    },
  };
}

/** Removes what is too old or too much. Whatever else is in the folder is somebody else's. */
async function sweep({ folder, keepDays, maxBytes }: AuditFolder): Promise<void> {
  const names = (await readdir(folder)).filter((name) => PATTERN.test(name) && !isInUse(name));
  const found = await Promise.all(names.map((name) => look(join(folder, name))));
  const files = found.filter((file) => file !== undefined).toSorted((a, b) => b.mtimeMs - a.mtimeMs);
  let bytes = 0;
  for (const { path, size, mtimeMs } of files) {
    bytes += size;
    if (bytes > maxBytes || Date.now() - mtimeMs > keepDays * DAY_MS) await rm(path, { force: true });
  }
}

/** Another process may have removed it meanwhile. */
async function look(path: string): Promise<{ path: string; size: number; mtimeMs: number } | undefined> {
  try {
    const { size, mtimeMs } = await stat(path);
    return { path, size, mtimeMs };
  } catch {
    return undefined;
  }
}

/** Records of a process that lives would go on into a file that nobody sees. */
function isInUse(name: string): boolean {
  try {
    process.kill(Number(PATTERN.exec(name)?.[1]), 0);
    return true;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code === "EPERM";
  }
}
