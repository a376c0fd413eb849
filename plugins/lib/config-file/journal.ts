import { createHash } from "node:crypto";
import { mkdir, readFile, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { GatewayError } from "../../../core/mod.ts";
import { codeOf, type FileState, makeFolder, namesIn, replaceFile, syncFolder, writeNew } from "../files.ts";
import { stateFolder } from "../folders.ts";
import type { MapEdit } from "./edit-json.ts";

/** A change of one file. */
export interface Change {
  readonly file: string;
  /** Whose file it is; absent for our own config. */
  readonly client?: string;
  /** Absent where the file is made. */
  readonly before: FileState | undefined;
  readonly after: FileState;
  readonly edit: MapEdit;
}

/** A change that was made, or was about to be. */
export interface Recorded {
  readonly file: string;
  readonly client?: string;
  readonly mode: number | null;
  /** The hash of what it held; null if it was not there. */
  readonly before: string | null;
  readonly after: string;
  readonly edit: MapEdit;
}

/** What one `init` did. */
export interface Run {
  readonly folder: string;
  readonly changes: readonly Recorded[];
}

const JOURNAL = "journal.json";

/**
 * Makes changes, all or none of them. What the files held is on the disk before the first is touched, so that
 * whatever ends us in between, everything can be put back.
 */
export async function makeChanges(changes: readonly Change[]): Promise<void> {
  const run = await record(changes);
  const done: Change[] = [];
  try {
    for (const change of changes) {
      await replaceFile(change.file, change.after);
      done.push(change);
    }
  } catch (thrown) {
    for (const { file, before } of done.reverse()) await (before ? replaceFile(file, before) : unlink(file));
    await forget(run);
    throw thrown;
  }
}

/** The runs that can be undone, the last one first. */
export async function runsDone(): Promise<readonly Run[]> {
  const folder = runsFolder();
  const names = (await namesIn(folder)).filter((name) => /^\d+$/.test(name));
  const runs = names.toSorted((a, b) => Number(b) - Number(a)).map((name) => readRun(join(folder, name)));
  // Without its journal nothing was begun.
  return (await Promise.all(runs)).filter((run) => run !== undefined);
}

/** What a file held before a run. */
export async function backupOf(run: Run, change: Recorded): Promise<Uint8Array> {
  const bytes = await readFile(join(run.folder, String(run.changes.indexOf(change))));
  if (hashOf(bytes) === change.before) return bytes;
  throw new GatewayError("CONFIG_INVALID", `The copy of ${change.file} in ${run.folder} is damaged.`);
}

/** Throws a run's copies away: they hold what the files held, secrets too. */
export async function forget(run: Pick<Run, "folder">): Promise<void> {
  await rm(run.folder, { recursive: true, force: true });
}

/** The same for all runs, and for what one left behind that was ended before it began. */
export async function forgetAll(): Promise<void> {
  await rm(runsFolder(), { recursive: true, force: true });
}

/** What tells one content from another. */
export function hashOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function runsFolder(): string {
  return join(stateFolder(), "init");
}

async function record(changes: readonly Change[]): Promise<Run> {
  const folder = await newFolder();
  const recorded: Recorded[] = [];
  for (const [index, { file, client, before, after, edit }] of changes.entries()) {
    if (before) await replaceFile(join(folder, String(index)), { bytes: before.bytes, mode: 0o600 });
    recorded.push({
      file,
      ...(client !== undefined && { client }),
      mode: before?.mode ?? null,
      before: before ? hashOf(before.bytes) : null,
      after: hashOf(after.bytes),
      edit,
    });
  }
  await writeNew(join(folder, JOURNAL), JSON.stringify({ changes: recorded }));
  await syncFolder(folder);
  return { folder, changes: recorded };
}

/** Two at once each get their own. */
async function newFolder(): Promise<string> {
  const parent = runsFolder();
  await makeFolder(parent);
  const last = Math.max(0, ...(await namesIn(parent)).map(Number).filter(Number.isInteger));
  for (let number = last + 1; ; number++) {
    const folder = join(parent, String(number));
    try {
      await mkdir(folder, { mode: 0o700 });
      return folder;
    } catch (thrown) {
      if (codeOf(thrown) !== "EEXIST") throw thrown;
    }
  }
}

async function readRun(folder: string): Promise<Run | undefined> {
  try {
    const { changes } = JSON.parse(await readFile(join(folder, JOURNAL), "utf8")) as Pick<Run, "changes">;
    return { folder, changes };
  } catch {
    return undefined;
  }
}
