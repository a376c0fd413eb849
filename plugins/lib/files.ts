import { randomBytes, randomUUID } from "node:crypto";
import {
  mkdir,
  open,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
  writeFile,
} from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { GatewayError } from "../../core/mod.ts";
import type { CacheStorage } from "../../core/services/cache.ts";

/** What a file holds, and who may read it. */
export interface FileState {
  readonly bytes: Uint8Array;
  readonly mode: number;
}

/** The file that a name leads to: managers of dotfiles put links in the place of files, and those must stay. */
export async function fileBehind(file: string): Promise<string> {
  return (await ifThere(realpath(file))) ?? file;
}

/** What a file holds; nothing if it is not there. */
export async function readState(file: string): Promise<FileState | undefined> {
  const handle = await ifThere(open(file, "r"));
  if (!handle) return undefined;
  try {
    const { mode } = await handle.stat();
    return { bytes: await handle.readFile(), mode: mode & 0o777 };
  } finally {
    await handle.close();
  }
}

/**
 * Puts another content in the place of a file, or makes it. Whoever reads it meanwhile, and whoever finds it after
 * the power went, has the old one or the new one and nothing between.
 */
export async function replaceFile(file: string, { bytes, mode }: FileState): Promise<void> {
  const folder = dirname(file);
  const temporary = join(folder, `.${basename(file)}.${randomBytes(6).toString("hex")}.tmp`);
  try {
    await makeFolder(folder);
    const owner = await ifThere(stat(file));
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(bytes);
      // The one who may change another's file may also have to leave it theirs.
      if (owner) await handle.chown(owner.uid, owner.gid).catch(() => {});
      await handle.chmod(mode);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (cause) {
    await unlink(temporary).catch(() => {});
    const message = `${file}: cannot be written (${codeOf(cause) ?? "the system refused it"}).`;
    throw new GatewayError("CONFIG_INVALID", message, { cause });
  }
  await syncFolder(folder).catch(() => {});
}

const DRAFT = ".draft";
const HOUR_MS = 3_600_000;

/**
 * A file for each key, as unstorage has them, which takes 5 ms of every start to load. A reader sees an old file or a new
 * one, and never half of one.
 */
export function fileStorage(folder: string): CacheStorage {
  const base = resolve(folder);
  let swept = false;
  return {
    getItemRaw: (name) => ifThere(readFile(join(base, name))),
    async setItemRaw(name, value) {
      const draft = join(base, `${name}.${randomUUID()}${DRAFT}`);
      await mkdir(base, { recursive: true, mode: 0o700 });
      try {
        // What servers offer a person is nobody else's business.
        await writeFile(draft, value as string | Uint8Array, { mode: 0o600 });
        await rename(draft, join(base, name));
      } catch (thrown) {
        await rm(draft, { force: true });
        throw thrown;
      }
      if (!swept) await sweep(base);
      swept = true;
    },
    removeItem: (name) => rm(join(base, name), { force: true }),
    async getKeys() {
      const entries = (await ifThere(readdir(base, { withFileTypes: true }))) ?? [];
      return entries.flatMap((entry) => (entry.isFile() ? entry.name : []));
    },
  };
}

/** Removes what processes left that were killed while they wrote. */
async function sweep(base: string): Promise<void> {
  for (const name of (await readdir(base)).filter((each) => each.endsWith(DRAFT))) {
    const file = join(base, name);
    const written = await stat(file).catch(() => undefined);
    if (written && Date.now() - written.mtimeMs > HOUR_MS) await rm(file, { force: true });
  }
}

/** The code of a failure of the file system, such as `ENOENT`. */
export function codeOf(thrown: unknown): string | undefined {
  return (thrown as NodeJS.ErrnoException | null)?.code;
}

/** What a step gives or, if what it is about is not there, nothing. */
export async function ifThere<T>(step: Promise<T>): Promise<T | undefined> {
  try {
    return await step;
  } catch (thrown) {
    const code = codeOf(thrown);
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw thrown;
  }
}

/** Writes a file that is not there yet, and returns once it is on the disk. */
export async function writeNew(file: string, text: string): Promise<void> {
  const handle = await open(file, "wx", 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes a folder for nobody else, and those it is in, and returns once they are on the disk. */
export async function makeFolder(folder: string): Promise<void> {
  const first = await mkdir(folder, { recursive: true, mode: 0o700 });
  if (first === undefined) return;
  const top = dirname(first);
  for (let parent = dirname(folder); parent.length >= top.length; parent = dirname(parent)) {
    // A folder that others own may be closed to reading; names in it are none of ours to lose.
    await syncFolder(parent).catch(() => {});
    if (parent === top) break;
  }
}

/** Returns once the names in a folder are on the disk. */
export async function syncFolder(folder: string): Promise<void> {
  // Windows has no such thing: it writes names in order by itself.
  if (process.platform === "win32") return;
  const handle = await ifThere(open(folder, "r"));
  if (!handle) return;
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Renames, and says whether there was something of this name. */
export async function renameIfThere(from: string, to: string): Promise<boolean> {
  return (await ifThere(rename(from, to).then(() => true))) ?? false;
}

/** Removes a file, and says whether it was there. */
export async function unlinkIfThere(file: string): Promise<boolean> {
  return (await ifThere(unlink(file).then(() => true))) ?? false;
}

/** Removes a folder if it is empty; otherwise nothing happens. */
export async function removeIfEmpty(folder: string): Promise<void> {
  await rmdir(folder).catch(() => {});
}

/** The text of a file, if it is there; a file larger than this is empty. */
export async function textIfThere(file: string, maxBytes: number): Promise<string | undefined> {
  const size = (await ifThere(stat(file)))?.size;
  if (size === undefined) return undefined;
  return size > maxBytes ? "" : ifThere(readFile(file, "utf8"));
}

/** The names in a folder; none if it is not there. */
export async function namesIn(folder: string): Promise<string[]> {
  return (await ifThere(readdir(folder))) ?? [];
}
