import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** A file of the project, seen from the sources and from the build alike. */
export function fromRoot(...path: readonly string[]): string {
  let folder = dirname(fileURLToPath(import.meta.url));
  while (!existsSync(join(folder, "package.json"))) folder = dirname(folder);
  return join(folder, ...path);
}

/** How `toolpipe` is started as a process: the build on Node, the sources on Deno. */
export function toolpipeCommand(): readonly [command: string, ...args: string[]] {
  return "Deno" in globalThis
    ? [process.execPath, "run", "-A", fromRoot("plugins/cli/toolpipe.ts")]
    : [process.execPath, fromRoot("dist/plugins/cli/toolpipe.js")];
}
