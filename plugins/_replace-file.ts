import { randomBytes } from "node:crypto";
import { open, realpath, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { GatewayError } from "../core/mod.ts";
import { codeOf, ifThere, makeFolder, syncFolder } from "./state/_files.ts";

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
