import { mkdir, readFile, rm, stat, unlink } from "node:fs/promises";
import { extname, join } from "node:path";
import { GatewayError, isJsonObject, type JsonObject } from "../../../core/mod.ts";
import {
  type FileState,
  getErrorCode,
  ifExists,
  listFolder,
  makeFolder,
  readFileState,
  replaceFile,
  resolveLink,
  syncFolder,
  writeNewFile,
} from "../files.ts";
import { stateFolder } from "../folders.ts";
import { sha256Hex } from "../hash.ts";
import { readObject } from "../server-entry/machine.ts";
import { editFile, type MapEdit } from "./edit-json.ts";

/** Change of one file. */
export interface Change {
  readonly file: string;
  /** Client that owns the file; absent for our own config. */
  readonly client?: string;
  /** Undefined if the file is created. */
  readonly before: FileState | undefined;
  readonly after: FileState;
  readonly edit: MapEdit;
}

/** Change as the journal records it, before it is made. */
export interface Recorded {
  readonly file: string;
  readonly client?: string;
  readonly mode: number | null;
  /** Hash of the old content; null if the file did not exist. */
  readonly before: string | null;
  readonly after: string;
  readonly edit: MapEdit;
}

/** Changes of one `init`. */
export interface Run {
  readonly folder: string;
  readonly changes: readonly Recorded[];
}

const JOURNAL = "journal.json";

/**
 * Makes changes, all or none of them. Copies of the files are on the disk before the first is touched, so that
 * whatever ends the process in between, everything can be restored.
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
    await deleteRun(run);
    throw thrown;
  }
}

/** Lists the runs that can be undone, the latest first. */
export async function listRuns(): Promise<readonly Run[]> {
  const folder = runsFolder();
  const names = (await listFolder(folder)).filter((name) => /^\d+$/.test(name));
  const runs = names.toSorted((a, b) => Number(b) - Number(a)).map((name) => readRun(join(folder, name)));
  // A run without a journal has changed nothing.
  return (await Promise.all(runs)).filter((run) => run !== undefined);
}

/** Reads the content that a file had before a run. */
export async function readBackup(run: Run, change: Recorded): Promise<Uint8Array> {
  const bytes = await readFile(join(run.folder, String(run.changes.indexOf(change))));
  if (sha256Hex(bytes) === change.before) return bytes;
  throw new GatewayError("CONFIG_INVALID", `The copy of ${change.file} in ${run.folder} is damaged.`);
}

/** Throws a run's copies away: they hold what the files held, secrets too. */
export async function deleteRun(run: Pick<Run, "folder">): Promise<void> {
  await rm(run.folder, { recursive: true, force: true });
}

/** Deletes the copies of all runs, and those of runs that never began. */
export async function deleteAllRuns(): Promise<void> {
  await rm(runsFolder(), { recursive: true, force: true });
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
      before: before ? sha256Hex(before.bytes) : null,
      after: sha256Hex(after.bytes),
      edit,
    });
  }
  await writeNewFile(join(folder, JOURNAL), JSON.stringify({ changes: recorded }));
  await syncFolder(folder);
  return { folder, changes: recorded };
}

/** Concurrent runs each get their own folder. */
async function newFolder(): Promise<string> {
  const parent = runsFolder();
  await makeFolder(parent);
  const last = Math.max(0, ...(await listFolder(parent)).map(Number).filter(Number.isInteger));
  for (let number = last + 1; ; number++) {
    const folder = join(parent, String(number));
    try {
      await mkdir(folder, { mode: 0o700 });
      return folder;
    } catch (thrown) {
      if (getErrorCode(thrown) !== "EEXIST") throw thrown;
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

/** Config that servers can be added to. */
export interface OwnConfig {
  readonly file: string;
  readonly isThere: boolean;
  readonly servers: Readonly<JsonObject>;
  /** Names in use. */
  readonly names: ReadonlySet<string>;
}

/** Reads the config that servers are to be added to. */
export async function readOwnConfig(file: string): Promise<OwnConfig> {
  const ending = extname(file).toLowerCase();
  if (ending !== ".json") {
    throw new GatewayError(
      "CONFIG_INVALID",
      `${file}: toolpipe adds servers to JSON files only. Name one with --config, or add them by hand under "mcpServers".`,
    );
  }
  const isThere = (await ifExists(stat(file))) !== undefined;
  const data = isThere ? await readObject(file) : {};
  const { mcpServers = {}, servers = [] } = data;
  if (!isJsonObject(mcpServers)) {
    throw new GatewayError("CONFIG_INVALID", `${file}: mcpServers: expected an object of servers by name.`);
  }
  const listed = Array.isArray(servers) ? servers.filter(isJsonObject).map(({ name }) => String(name)) : [];
  return { file, isThere, servers: mcpServers, names: new Set([...Object.keys(mcpServers), ...listed]) };
}

/** Prepares adding servers to the user's own config; undefined if there are none to add. */
export async function prepareOwnChange(
  own: OwnConfig,
  added: Readonly<JsonObject>,
): Promise<Change | undefined> {
  if (Object.keys(added).length === 0) return undefined;
  const file = await resolveLink(own.file);
  const before = await readFileState(file);
  const edit = { key: "mcpServers", remove: [], put: added };
  const text = before
    ? await editFile(own.file, before.bytes, edit)
    : `${JSON.stringify({ mcpServers: added }, null, 2)}\n`;
  // It holds what the files of clients held, secrets included.
  return { file, before, after: { bytes: Buffer.from(text), mode: 0o600 }, edit };
}
