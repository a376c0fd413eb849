import { realpathSync } from "node:fs";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

/** A command line. */
export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
}

/** How a client starts this very toolpipe: the package from the registry, or the clone that is running. */
export function launchOf(platform: NodeJS.Platform = process.platform, own: string = ownFile()): Launch {
  if (/[\\/]node_modules[\\/]/.test(own)) {
    // On Windows npx is a script, and not every client can start one.
    return platform === "win32"
      ? { command: "cmd", args: ["/c", "npx", "-y", "toolpipe"] }
      : { command: "npx", args: ["-y", "toolpipe"] };
  }
  const isDeno = "Deno" in globalThis;
  return { command: process.execPath, args: [...(isDeno ? ["run", "-A"] : []), own] };
}

/** The command with which a client serves the servers of a config. */
export function serveWith(config: string, launch: Launch = launchOf()): Launch {
  return { command: launch.command, args: [...launch.args, "serve", "--config", config] };
}

function ownFile(): string {
  const here = fileURLToPath(import.meta.url);
  return realpathSync(fileURLToPath(new URL(`../toolpipe${extname(here)}`, import.meta.url)));
}
