import { randomBytes } from "node:crypto";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createBusyError } from "../../core/services/state.ts";
import {
  getErrorCode,
  ifExists,
  listFolder,
  makeFolder,
  readIfExists,
  removeIfEmpty,
  renameIfExists,
  syncFolder,
  unlinkIfExists,
  writeNewFile,
} from "../lib/files.ts";
import { sha256Hex } from "../lib/hash.ts";
import { MAX_STATE_SIZE } from "../lib/memory-store.ts";
import { decodeRecord, encodeRecord, type StateRecord, sweep } from "./record.ts";

/** A record that exists and cannot be read. */
export interface DamagedRecord {
  readonly isDamaged: true;
  /** Its version; empty if that is lost too. */
  readonly version: string;
  /** The file or folder of the record. */
  readonly location: string;
}

/** A record as it was loaded. */
export type LoadedRecord = (StateRecord & { readonly isDamaged?: false }) | DamagedRecord;

/** The keys of one group, as files. A process may end in any step: the key is then as before or after the change. */
export interface Group {
  /** Loads the record of a key, by its name in {@link names}. */
  load(name: string): Promise<LoadedRecord | undefined>;
  /** Sets a key if it is missing. */
  create(key: string, value: string): Promise<boolean>;
  /** Replaces the record that was loaded, if it is still the current one. */
  move(key: string, from: LoadedRecord, value: string): Promise<boolean>;
  /** Removes the record that was loaded, if it is still the current one. */
  remove(key: string, from: LoadedRecord): Promise<boolean>;
  /** Lists the names of the keys. */
  names(): Promise<string[]>;
  /** Removes files of processes that ended in the middle of a step. The given versions are known to be in use. */
  sweep(inUse: ReadonlySet<string>): Promise<void>;
}

/** Converts a key to a file name. As JSON, since broken characters would otherwise all become the same one. */
export function hashKey(key: string): string {
  return sha256Hex(JSON.stringify(key));
}

const isName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);
const isVersion = (name: string): boolean => /^[0-9a-f]{32}$/.test(name);
const newVersion = (): string => randomBytes(16).toString("hex");

/** Name of the version of a deleted key. A folder with neither this nor a version has lost it. */
const DELETED = "deleted";
/** More retries mean that something is wrong. */
const MAX_TRIES = 1_000;

/** Creates a group of keys. Its folder is created when the first key is set. */
export function createGroup(folder: string): Group {
  const [keys, values, drafts] = ["keys", "values", "drafts"].map((name) => join(folder, name)) as [
    string,
    string,
    string,
  ];
  const keyFolder = (name: string): string => join(keys, name);
  const valueFile = (version: string): string => join(values, `${version}.txt`);
  const draftFolder = (version: string): string => join(drafts, version);

  return {
    load,
    create,
    move,
    remove,
    names: async () => (await listFolder(keys)).filter(isName),
    async sweep(inUse) {
      await sweepDeleted();
      await sweep({ values, drafts, inUse, getVersion: (key) => getVersion(hashKey(key)) });
    },
  };

  async function getVersion(name: string): Promise<string | undefined> {
    return (await listFolder(keyFolder(name))).find(isVersion);
  }

  async function load(name: string): Promise<LoadedRecord | undefined> {
    let missing: string | undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const found = await ifExists(readdir(keyFolder(name)));
      const version = found?.find(isVersion);
      if (found === undefined || (!version && found.includes(DELETED))) return undefined;
      if (version === undefined) return { isDamaged: true, version: "", location: keyFolder(name) };
      const text = version === missing ? "" : await readIfExists(valueFile(version), MAX_STATE_SIZE * 4);
      if (text === undefined) {
        // Probably just replaced. If its version is still there at the next try, the value is lost: versions go first.
        missing = version;
        continue;
      }
      const record = decodeRecord(text);
      if (record?.version === version && hashKey(record.key) === name) return record;
      return { isDamaged: true, version, location: valueFile(version) };
    }
    throw createBusyError();
  }

  async function create(key: string, value: string): Promise<boolean> {
    const version = newVersion();
    const draft = draftFolder(version);
    let done = false;
    try {
      await makeFolders();
      // Before the value: a sweep keeps a value whose draft exists.
      await mkdir(draft, { mode: 0o700 });
      await writeFile(join(draft, version), "", { flag: "wx", mode: 0o600 });
      await syncFolder(draft);
      await putValue(encodeRecord(key, version, undefined, value), version);
      done = await publish(draft, hashKey(key), version);
      if (done) await syncFolder(keys);
      return done;
    } finally {
      if (done) await rm(draft, { recursive: true, force: true }).catch(() => {});
      else await discard(version, draft);
    }
  }

  /**
   * Puts a draft into effect; of several processes, one succeeds. A folder replaces another only if that is empty or
   * missing; in that of a deleted key, the version takes the place of the mark.
   */
  async function publish(draft: string, name: string, version: string): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      if (await renameIfExists(join(keyFolder(name), DELETED), join(keyFolder(name), version))) {
        await syncFolder(keyFolder(name));
        return true;
      }
      try {
        await rename(draft, keyFolder(name));
        return true;
      } catch (thrown) {
        if (!isTaken(thrown)) throw thrown;
        // A file, which no version of this store creates.
        if (getErrorCode(thrown) === "ENOTDIR") await unlinkIfExists(keyFolder(name)).catch(() => {});
      }
      if (await load(name)) return false;
    }
    throw createBusyError();
  }

  /** Marks a key that has lost its version as deleted. */
  async function markDeleted(name: string): Promise<void> {
    await writeFile(join(keyFolder(name), DELETED), "", { mode: 0o600 });
    await syncFolder(keyFolder(name));
  }

  async function move(key: string, { version: before }: LoadedRecord, value: string): Promise<boolean> {
    const name = hashKey(key);
    const own = keyFolder(name);
    if (before === "") {
      await markDeleted(name);
      return create(key, value);
    }
    const version = newVersion();
    let done = false;
    try {
      await makeFolders();
      await putValue(encodeRecord(key, version, before, value), version);
      // The step that takes effect: the old name exists once, so of several processes, one succeeds.
      done = await renameIfExists(join(own, before), join(own, version));
      if (done) await syncFolder(own);
      return done;
    } finally {
      await discard(done ? before : version);
    }
  }

  async function remove(key: string, { version }: LoadedRecord): Promise<boolean> {
    const name = hashKey(key);
    const own = keyFolder(name);
    if (version === "") {
      await markDeleted(name);
      return true;
    }
    const done = await renameIfExists(join(own, version), join(own, DELETED));
    if (!done) return false;
    await syncFolder(own);
    await discard(version);
    return true;
  }

  /** Removes the folders of deleted keys. A process that sets such a key meanwhile wins, or creates its folder anew. */
  async function sweepDeleted(): Promise<void> {
    for (const name of (await listFolder(keys)).filter(isName)) {
      if (await unlinkIfExists(join(keyFolder(name), DELETED)).catch(() => false))
        await removeIfEmpty(keyFolder(name));
    }
  }

  /** Creates the folders before each write: programs that copy or clean folders leave empty ones out. */
  async function makeFolders(): Promise<void> {
    for (const each of [keys, values, drafts]) await makeFolder(each);
  }

  /** Writes a value that is complete from the moment it has its name, and never changes. */
  async function putValue(text: string, version: string): Promise<void> {
    const draft = join(drafts, `${version}.txt`);
    await writeNewFile(draft, text);
    await rename(draft, valueFile(version));
    await syncFolder(values);
  }

  /** Removes files as far as possible; the rest is swept later. */
  async function discard(version: string, draft?: string): Promise<void> {
    if (draft) await rm(draft, { recursive: true, force: true }).catch(() => {});
    await unlinkIfExists(join(drafts, `${version}.txt`)).catch(() => {});
    await unlinkIfExists(valueFile(version)).catch(() => {});
  }
}

/** Returns whether a folder could not be renamed because its target exists. */
function isTaken(thrown: unknown): boolean {
  const codes = [
    "ENOTEMPTY",
    "EEXIST",
    "ENOTDIR",
    ...(process.platform === "win32" ? ["EPERM", "EACCES"] : []),
  ];
  return codes.includes(getErrorCode(thrown) ?? "");
}
