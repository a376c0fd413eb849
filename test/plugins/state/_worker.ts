import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("./_worker.mjs", import.meta.url));

/** The command of a process of its own that uses a file store. */
export function workerCommand(folder: string, act: string, number = 0): [command: string, ...args: string[]] {
  const run = "Deno" in globalThis ? ["run", "-A"] : [];
  return [process.execPath, ...run, file, folder, act, String(number)];
}
