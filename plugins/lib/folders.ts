import { homedir } from "node:os";
import { posix, win32 } from "node:path";

/** Environment variables. */
export type Environment = Readonly<Record<string, string | undefined>>;
type Place = [env?: Environment, platform?: NodeJS.Platform, home?: string];

/** Returns the folder for state that must not be lost, such as approvals and tokens. */
export function stateFolder(...place: Place): string {
  return findFolder("state", ...place);
}

/** Returns the folder for files that can be created again. */
export function cacheFolder(...place: Place): string {
  return findFolder("cache", ...place);
}

function findFolder(
  kind: "state" | "cache",
  env: Environment = process.env,
  platform: NodeJS.Platform = process.platform,
  home: string = homedir(),
): string {
  const { join, resolve, isAbsolute } = platform === "win32" ? win32 : posix;
  const own = env["TOOLPIPE_HOME"];
  if (own) return join(resolve(own), kind);
  if (platform === "win32") {
    return join(env["LOCALAPPDATA"] || join(home, "AppData", "Local"), "toolpipe", kind);
  }
  // On macOS too, if it is set. The XDG specification says to ignore a relative path.
  const xdg = env[kind === "state" ? "XDG_STATE_HOME" : "XDG_CACHE_HOME"];
  if (xdg && isAbsolute(xdg)) return join(xdg, "toolpipe");
  if (platform === "darwin") {
    return join(home, "Library", kind === "state" ? "Application Support" : "Caches", "toolpipe");
  }
  return kind === "state" ? join(home, ".local", "state", "toolpipe") : join(home, ".cache", "toolpipe");
}
