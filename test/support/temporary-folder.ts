import { mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { onTestFinished } from "vitest";

/** Makes a folder with these files in it, which is gone once the test is over. */
export async function temporaryFolder(files: Readonly<Record<string, string>> = {}): Promise<string> {
  const folder = await mkdtemp(join(await realpath(tmpdir()), "toolpipe-test-"));
  onTestFinished(() => removeFolder(folder));
  await writeFiles(folder, files);
  return folder;
}

/** Removes a folder, even if a process that was told to end still writes into it: that would be ENOTEMPTY at the first try. */
export async function removeFolder(folder: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      // Deno ignores `maxRetries`.
      return await rm(folder, { recursive: true, force: true });
    } catch (error) {
      if (tries === 20) throw error;
      await setTimeout(50);
    }
  }
}

/** Writes files into a folder, and makes the folders they are in. */
export async function writeFiles(folder: string, files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}
