import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { AuditRecord, AuditSink, ChainedRecord } from "../../core/services/audit.ts";
import { readAudit } from "./audit-files.ts";
import { createChain } from "./chain.ts";
import type { Seal } from "./seal.ts";
import { createWriter, type Writer } from "./writer.ts";

/** A sink whose records can be read back. */
export interface MemorySink extends AuditSink {
  /** The records kept, oldest first. */
  readonly records: readonly (AuditRecord & ChainedRecord)[];
}

/** Keeps the last records in memory. */
export function memorySink(limit = 1_000): MemorySink {
  const records: (AuditRecord & ChainedRecord)[] = [];
  const chain = createChain();
  let closed = false;
  return {
    records,
    write(record) {
      if (closed) return;
      records.push(JSON.parse(chain.link(record)) as AuditRecord & ChainedRecord);
      if (records.length > limit) records.shift();
    },
    close() {
      closed = true;
    },
  };
}

interface Shared {
  readonly writer: Writer;
  /** The seals of its users. */
  readonly seals: Set<Seal>;
  users: number;
}

/** One writer per file: gateways of one process that record to the same file share it. */
const writers = new Map<string, Shared>();

/**
 * Appends records to a file, one JSON object a line, each with the hash of the one before. A write resolves once its
 * record is on the disk; records that come while it writes are written together. Without a seal, which the plugin
 * `audit` hands to its own sinks, hashes need no key, and a file that is cut or written anew as a whole passes.
 */
export function fileSink(file: string, seal?: Seal): Required<AuditSink> {
  const path = resolve(file);
  let shared: Shared | undefined;
  let closing: Promise<void> | undefined;
  return {
    write: (record) => (closing ? rejectClosed() : open().write(record)),
    writeSoon: (make, withinMs) => (closing ? rejectClosed() : open().writeSoon(make, withinMs)),
    close() {
      closing ??= finish();
      return closing;
    },
  };

  function open(): Writer {
    shared ??= acquire(path, seal);
    return shared.writer;
  }

  async function finish(): Promise<void> {
    if (!shared) return;
    await shared.writer.flush();
    await release(path, shared, seal);
  }
}

function rejectClosed(): Promise<never> {
  return Promise.reject(new GatewayError("CLOSED", "The audit file is closed and takes no more records."));
}

function acquire(path: string, seal: Seal | undefined): Shared {
  const seals = new Set<Seal>();
  const shared = writers.get(path) ?? { writer: createWriter(path, seals), seals, users: 0 };
  shared.users++;
  if (seal) shared.seals.add(seal);
  writers.set(path, shared);
  return shared;
}

async function release(path: string, shared: Shared, seal: Seal | undefined): Promise<void> {
  shared.users--;
  if (shared.users > 0) {
    await shared.writer.anchor();
    if (seal) shared.seals.delete(seal);
    return;
  }
  writers.delete(path);
  await shared.writer.close();
}

/** Options of {@link folderSink}. */
export interface AuditFolder {
  readonly folder: string;
  /** Files whose last record is older than this are removed. */
  readonly keepDays: number;
  /** The oldest files above this total size are removed. */
  readonly maxBytes: number;
  readonly seal?: Seal | undefined;
}

const DAY_MS = 86_400_000;
const PATTERN = /^\d{8}T\d{6}Z-(\d+)(?:-[0-9a-f]+)?\.jsonl$/;

/**
 * File name of this process. Two processes never write to one file; two containers may have the same process id, so a
 * random part is added.
 */
const processFile = [
  new Date().toISOString().replace(/[-:]|\.\d+/g, ""),
  process.pid,
  `${randomBytes(4).toString("hex")}.jsonl`,
].join("-");

/**
 * Appends records to the file of this process in a folder. Nothing is created or removed before the first record, so
 * that a command that executes nothing leaves nothing behind.
 */
export function folderSink(options: AuditFolder): Required<AuditSink> & { readonly file: string } {
  const file = join(options.folder, processFile);
  const sink = fileSink(file, options.seal);
  let removal: Promise<void> | undefined;
  const prepare = (): Required<AuditSink> => {
    removal ??= removeOldFiles(options).catch(() => {});
    return sink;
  };
  return {
    file,
    write: (record) => prepare().write(record),
    writeSoon: (make, withinMs) => prepare().writeSoon(make, withinMs),
    async close() {
      await removal;
      await sink.close();
    },
  };
}

/** Removes files above the limits; other files in the folder are left alone. */
async function removeOldFiles({ folder, keepDays, maxBytes, seal }: AuditFolder): Promise<void> {
  const names = (await readdir(folder)).filter((name) => PATTERN.test(name) && !isInUse(name));
  const found = await Promise.all(names.map((name) => statFile(join(folder, name))));
  const files = found.filter((file) => file !== undefined).toSorted((a, b) => b.mtimeMs - a.mtimeMs);
  let bytes = 0;
  for (const { path, size, mtimeMs } of files) {
    bytes += size;
    if (bytes <= maxBytes && Date.now() - mtimeMs <= keepDays * DAY_MS) continue;
    if (seal) await forget(path, seal);
    await rm(path, { force: true });
  }
}

/** Takes back the anchor of a file that is removed: its records are not missing. */
async function forget(path: string, seal: Seal): Promise<void> {
  for await (const { record } of readAudit(path)) {
    const { chain, seq, hash } = record ?? {};
    if (typeof chain !== "string" || typeof hash !== "string" || typeof seq !== "number") return;
    const timestamp = new Date().toISOString();
    const key_id = seal.signer()?.keyId;
    await seal.keep({ chain, seq, hash, file: resolve(path), timestamp, key_id, removed: true });
    return;
  }
}

/** Returns undefined if another process has removed the file. */
async function statFile(path: string): Promise<{ path: string; size: number; mtimeMs: number } | undefined> {
  try {
    const { size, mtimeMs } = await stat(path);
    return { path, size, mtimeMs };
  } catch {
    return undefined;
  }
}

/** Checks if the process of a file is alive: its records would go on into a removed file. */
function isInUse(name: string): boolean {
  try {
    process.kill(Number(PATTERN.exec(name)?.[1]), 0);
    return true;
  } catch (thrown) {
    return (thrown as { code?: unknown }).code === "EPERM";
  }
}
