import { homedir } from "node:os";
import { posix, win32 } from "node:path";

/** The variables that say where things are. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Where state is kept that must not be lost: approvals, tokens, the like. */
export function stateFolder(
  env: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  return folder("state", env, platform, home);
}

/** Where things are kept that can be made again. */
export function cacheFolder(
  env: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  return folder("cache", env, platform, home);
}

function folder(kind: "state" | "cache", env: Environment, platform: NodeJS.Platform, home: string): string {
  const { join, resolve, isAbsolute } = platform === "win32" ? win32 : posix;
  const own = env["TOOLPIPE_HOME"];
  if (own) return join(resolve(own), kind);
  if (platform === "win32") {
    return join(env["LOCALAPPDATA"] || join(home, "AppData", "Local"), "toolpipe", kind);
  }
  // On macOS too: whoever sets it wants it. The XDG specification says to ignore a relative path.
  const xdg = env[kind === "state" ? "XDG_STATE_HOME" : "XDG_CACHE_HOME"];
  if (xdg && isAbsolute(xdg)) return join(xdg, "toolpipe");
  if (platform === "darwin") {
    return join(home, "Library", kind === "state" ? "Application Support" : "Caches", "toolpipe");
  }
  return kind === "state" ? join(home, ".local", "state", "toolpipe") : join(home, ".cache", "toolpipe");
}
