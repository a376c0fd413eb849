import { randomBytes } from "node:crypto";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tooBusy } from "../../core/services/state.ts";
import {
  codeOf,
  makeFolder,
  namesIn,
  removeIfEmpty,
  renameIfThere,
  syncFolder,
  textIfThere,
  unlinkIfThere,
  writeNew,
} from "../lib/files.ts";
import { MAX_SIZE } from "../lib/memory-store.ts";
import { readRecord, type StateRecord, sha256, writeRecord } from "./record.ts";
import { sweep } from "./sweep.ts";

/** The keys of one group, as files. Every step of it can be cut short by the end of the process, and leaves the key as it was or as it is to be. */
export interface Group {
  /** What there is of a key, by its name in {@link names}. */
  load(name: string): Promise<StateRecord | undefined>;
  /** Sets a key if it is not there. */
  create(key: string, value: string): Promise<boolean>;
  /** Puts a value in the place of the one that was loaded, if it is still there. */
  move(from: StateRecord, value: string): Promise<boolean>;
  /** Removes what was loaded, if it is still there. */
  remove(record: StateRecord): Promise<boolean>;
  /** The names of the keys. */
  names(): Promise<string[]>;
  /** Removes what was left by processes that ended in the middle of a step; these versions are known to be in use. */
  sweep(inUse: ReadonlySet<string>): Promise<void>;
}

/** The name of a key: any text, as one that a file can have. As JSON, because broken characters would otherwise all become the same one. */
export function nameOf(key: string): string {
  return sha256(JSON.stringify(key));
}

const isName = (name: string): boolean => /^[0-9a-f]{64}$/.test(name);
const isVersion = (name: string): boolean => /^[0-9a-f]{32}$/.test(name);
const newVersion = (): string => randomBytes(16).toString("hex");

/** As many as may get in between before something must be wrong. */
const MAX_TRIES = 1_000;

/** The keys in a folder, which is made when the first of them is set. */
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
    names: async () => (await namesIn(keys)).filter(isName),
    sweep: (inUse) => sweep({ values, drafts, inUse, versionOf: (key) => versionOf(nameOf(key)) }),
  };

  async function versionOf(name: string): Promise<string | undefined> {
    return (await namesIn(keyFolder(name))).find(isVersion);
  }

  async function load(name: string): Promise<StateRecord | undefined> {
    let missing: string | undefined;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const version = await versionOf(name);
      if (version === undefined) return undefined;
      const text = version === missing ? "" : await textIfThere(valueFile(version), MAX_SIZE * 4);
      if (text === undefined) {
        // Most likely replaced just now. But if its version is still there after that, it is lost: a value goes after its version.
        missing = version;
        continue;
      }
      const record = readRecord(text);
      if (record?.version === version && nameOf(record.key) === name) return record;
      await setAside(name, version);
      return undefined;
    }
    throw tooBusy();
  }

  /** Keeps what cannot be read for whoever can, out of the way. Where nothing can be written, it stays, and is not there all the same. */
  async function setAside(name: string, version: string): Promise<void> {
    try {
      if (!(await unlinkIfThere(join(keyFolder(name), version)))) return;
      await removeIfEmpty(keyFolder(name));
      await makeFolder(aside);
      await renameIfThere(valueFile(version), join(aside, `${version}.txt`));
    } catch {}
  }

  async function create(key: string, value: string): Promise<boolean> {
    const version = newVersion();
    const draft = draftFolder(version);
    let done = false;
    try {
      await makeFolders();
      // Before the value, because it says that the value is still wanted.
      await mkdir(draft, { mode: 0o700 });
      await writeFile(join(draft, version), "", { flag: "wx", mode: 0o600 });
      await syncFolder(draft);
      await putValue(writeRecord(key, version, undefined, value), version);
      done = await publish(draft, nameOf(key));
      if (done) await syncFolder(keys);
      return done;
    } finally {
      if (!done) await discard(version, draft);
    }
  }

  /** A folder takes the place of another only if that is empty or not there: of several, one comes first. */
  async function publish(draft: string, name: string): Promise<boolean> {
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      try {
        await rename(draft, keyFolder(name));
        return true;
      } catch (thrown) {
        if (!isTaken(thrown)) throw thrown;
        // Not a folder, so not ours.
        if (codeOf(thrown) === "ENOTDIR") await unlinkIfThere(keyFolder(name)).catch(() => {});
      }
      if (await load(name)) return false;
      await clear(keyFolder(name));
    }
    throw tooBusy();
  }

  /** Removes from a key's folder what no step of ours has put there, such as the notes of a file manager. */
  async function clear(stale: string): Promise<void> {
    for (const name of await namesIn(stale)) {
      if (!isVersion(name)) await rm(join(stale, name), { recursive: true, force: true });
    }
    await removeIfEmpty(stale);
  }

  async function move(from: StateRecord, value: string): Promise<boolean> {
    const own = keyFolder(nameOf(from.key));
    const version = newVersion();
    let done = false;
    try {
      await makeFolders();
      await putValue(writeRecord(from.key, version, from.version, value), version);
      // The one step that counts: the old name is there once, so of several, one comes first.
      done = await renameIfThere(join(own, from.version), join(own, version));
      if (done) await syncFolder(own);
      return done;
    } finally {
      await discard(done ? from.version : version);
    }
  }

  async function remove({ key, version }: StateRecord): Promise<boolean> {
    const own = keyFolder(nameOf(key));
    const done = await unlinkIfThere(join(own, version));
    if (!done) return false;
    await syncFolder(own);
    await removeIfEmpty(own);
    await syncFolder(keys);
    await discard(version);
    return true;
  }

  /** Each time, because whoever copies or cleans folders leaves empty ones out. */
  async function makeFolders(): Promise<void> {
    for (const each of [keys, values, drafts]) await makeFolder(each);
  }

  /** Values are whole from the moment they have their name, and never change. */
  async function putValue(text: string, version: string): Promise<void> {
    const draft = join(drafts, `${version}.txt`);
    await writeNew(draft, text);
    await rename(draft, valueFile(version));
    await syncFolder(values);
  }

  /** Best effort: what stays is swept later. */
  async function discard(version: string, draft?: string): Promise<void> {
    if (draft) await rm(draft, { recursive: true, force: true }).catch(() => {});
    await unlinkIfThere(join(drafts, `${version}.txt`)).catch(() => {});
    await unlinkIfThere(valueFile(version)).catch(() => {});
  }
}

/** Whether a folder could not be renamed because something is where it was to go. */
function isTaken(thrown: unknown): boolean {
  const codes = [
    "ENOTEMPTY",
    "EEXIST",
    "ENOTDIR",
    ...(process.platform === "win32" ? ["EPERM", "EACCES"] : []),
  ];
  return codes.includes(codeOf(thrown) ?? "");
}
