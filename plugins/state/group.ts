import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createBusyError } from "../../core/services/state.ts";
import {
  getErrorCode,
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

/** The keys of one group, as files. A process may end in any step: the key is then as before or after the change. */
export interface Group {
  /** Loads the record of a key, by its name in {@link names}. */
  load(name: string): Promise<StateRecord | undefined>;
  /** Sets a key if it is missing. */
  create(key: string, value: string): Promise<boolean>;
  /** Replaces the value that was loaded, if it is still the current one. */
  move(from: StateRecord, value: string): Promise<boolean>;
  /** Removes the record that was loaded, if it is still the current one. */
  remove(record: StateRecord): Promise<boolean>;
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

/** More retries mean that something is wrong. */
const MAX_TRIES = 1_000;

/** Creates a group of keys. Its folder is created when the first key is set. */
export function createGroup(folder: string): Group {
  const [keys, values, drafts, aside] = ["keys", "values", "drafts", "aside"].map((name) =>
    join(folder, name),
  ) as [string, string, string, string];
  const keyFolder = (name: string): string => join(keys, name);
  const valueFile = (version: string): string => join(values, `${version}.txt`);
  const draftFolder = (version: string): string => join(drafts, version);

  return {
    load,
    create,
    move,
    remove,
    names: async () => (await listFolder(keys)).filter(isName),
    sweep: (inUse) => sweep({ values, drafts, inUse, getVersion: (key) => getVersion(hashKey(key)) }),
  };

  async function getVersion(name: string): Promise<string | undefined> {
    return (await listFolder(keyFolder(name))).find(isVersion);
  }

  async function load(name: string): Promise<StateRecord | undefined> {
    let missing: string | undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const version = await getVersion(name);
      if (version === undefined) return undefined;
      const text = version === missing ? "" : await readIfExists(valueFile(version), MAX_STATE_SIZE * 4);
      if (text === undefined) {
        // Probably just replaced. If its version is still there at the next try, the value is lost: versions go first.
        missing = version;
        continue;
      }
      const record = decodeRecord(text);
      if (record?.version === version && hashKey(record.key) === name) return record;
      await setAside(name, version);
      return undefined;
    }
    throw createBusyError();
  }

  /** Moves a record that cannot be read aside. In a read-only folder it stays, and still counts as missing. */
  async function setAside(name: string, version: string): Promise<void> {
    try {
      if (!(await unlinkIfExists(join(keyFolder(name), version)))) return;
      await removeIfEmpty(keyFolder(name));
      await makeFolder(aside);
      await renameIfExists(valueFile(version), join(aside, `${version}.txt`));
    } catch {}
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
      done = await publish(draft, hashKey(key));
      if (done) await syncFolder(keys);
      return done;
    } finally {
      if (!done) await discard(version, draft);
    }
  }

  /** A folder replaces another only if that is empty or missing: of several processes, one succeeds. */
  async function publish(draft: string, name: string): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      try {
        await rename(draft, keyFolder(name));
        return true;
      } catch (thrown) {
        if (!isTaken(thrown)) throw thrown;
        // A file, which no version of this store creates.
        if (getErrorCode(thrown) === "ENOTDIR") await unlinkIfExists(keyFolder(name)).catch(() => {});
      }
      if (await load(name)) return false;
      await clear(keyFolder(name));
    }
    throw createBusyError();
  }

  /** Removes foreign files from the folder of a key, such as those of a file manager. */
  async function clear(stale: string): Promise<void> {
    for (const name of await listFolder(stale)) {
      if (!isVersion(name)) await rm(join(stale, name), { recursive: true, force: true });
    }
    await removeIfEmpty(stale);
  }

  async function move(from: StateRecord, value: string): Promise<boolean> {
    const own = keyFolder(hashKey(from.key));
    const version = newVersion();
    let done = false;
    try {
      await makeFolders();
      await putValue(encodeRecord(from.key, version, from.version, value), version);
      // The step that takes effect: the old name exists once, so of several processes, one succeeds.
      done = await renameIfExists(join(own, from.version), join(own, version));
      if (done) await syncFolder(own);
      return done;
    } finally {
      await discard(done ? from.version : version);
    }
  }

  async function remove({ key, version }: StateRecord): Promise<boolean> {
    const own = keyFolder(hashKey(key));
    const done = await unlinkIfExists(join(own, version));
    if (!done) return false;
    await syncFolder(own);
    await removeIfEmpty(own);
    await syncFolder(keys);
    await discard(version);
    return true;
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
