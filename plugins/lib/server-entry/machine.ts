import { readdir, readFile, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { extname, isAbsolute, join, resolve } from "node:path";
import { GatewayError, isJsonObject, type JsonObject, readDataFile } from "../../../core/mod.ts";
import type { Machine, Place } from "../../../core/services/sources.ts";

/** Returns the current machine. */
export function thisMachine(project: string = process.cwd()): Machine {
  return {
    platform: process.platform,
    home: homedir(),
    env: { ...process.env },
    project: resolve(project),
  };
}

/** Returns an environment variable; on Windows its name is case-insensitive. */
export function getVariable({ platform, env }: Machine, name: string): string | undefined {
  if (Object.hasOwn(env, name)) return env[name];
  if (platform !== "win32") return undefined;
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name.toUpperCase());
  return key === undefined ? undefined : env[key];
}

/** Returns the folder that a variable names, or a default. */
export function getFolder(machine: Machine, name: string, otherwise: string): string {
  const folder = getVariable(machine, name);
  return folder !== undefined && isAbsolute(folder) ? folder : otherwise;
}

/** `$XDG_CONFIG_HOME` or `~/.config`, which many command-line programs use on every system. */
export function dotConfig(machine: Machine): string {
  return getFolder(machine, "XDG_CONFIG_HOME", join(machine.home, ".config"));
}

/** `%APPDATA%`. */
export function roaming(machine: Machine): string {
  return getFolder(machine, "APPDATA", join(machine.home, "AppData", "Roaming"));
}

/** `%LOCALAPPDATA%`. */
export function localAppData(machine: Machine): string {
  return getFolder(machine, "LOCALAPPDATA", join(machine.home, "AppData", "Local"));
}

/** Returns the folder for data of desktop applications. */
export function desktopData(machine: Machine): string {
  if (machine.platform === "darwin") return join(machine.home, "Library", "Application Support");
  return machine.platform === "win32" ? roaming(machine) : dotConfig(machine);
}

/** Returns the folder for settings of command-line programs: `%APPDATA%` on Windows, `~/.config` elsewhere. */
export function programConfig(machine: Machine): string {
  return machine.platform === "win32" ? roaming(machine) : dotConfig(machine);
}

/** Expands `~` at the start of a path. */
export function expandHome(path: string, { home }: Machine): string {
  return /^~(?=$|[/\\])/.test(path) ? join(home, path.slice(1)) : path;
}

/** Resolves a path that a user wrote: `~` is the home folder, and relative paths begin in the project. */
export function resolvePath(path: string, machine: Machine): string {
  return resolve(machine.project, expandHome(path, machine));
}

/** The history that one client keeps in its file grows large; no honest file is larger. */
const LARGEST = 64_000_000;

/** Finds the files of the first place that has any. A file that cannot be read counts as well. */
export async function findFiles(places: readonly Place[]): Promise<readonly string[]> {
  for (const { base, parts } of places) {
    const files = await expandParts(base, parts);
    if (files.length > 0) return files;
  }
  return [];
}

/** Formats a place for messages. */
export function formatPlace({ base, parts }: Place): string {
  return join(base, ...parts);
}

async function expandParts(base: string, parts: readonly string[]): Promise<readonly string[]> {
  const [part, ...rest] = parts;
  if (part === undefined) return (await exists(base)) ? [resolve(base)] : [];
  if (!part.includes("*")) return expandParts(join(base, part), rest);
  const [start = "", end = ""] = part.split("*");
  const names = await readdir(base).catch(() => []);
  const fitting = names.filter(
    (name) => name.length >= start.length + end.length && name.startsWith(start) && name.endsWith(end),
  );
  // The order in which a folder lists its files is not the same everywhere.
  const found = await Promise.all(fitting.toSorted().map((name) => expandParts(join(base, name), rest)));
  return found.flat();
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code !== "ENOENT" && code !== "ENOTDIR";
  }
}

/** Reads a file that must hold an object; an empty YAML or TOML file is an empty one. */
export async function readObject(file: string): Promise<JsonObject> {
  // Reading a pipe in a project would never end.
  const { isFile, size } = await stat(file).then(
    (found) => ({ isFile: found.isFile(), size: found.size }),
    // The error of reading is clearer.
    () => ({ isFile: true, size: 0 }),
  );
  if (!isFile) throw new GatewayError("CONFIG_INVALID", `${file}: it is not a file.`);
  if (size > LARGEST)
    throw new GatewayError("CONFIG_INVALID", `${file}: it is larger than ${LARGEST} bytes.`);
  const data = (await parseDataFile(file)) ?? {};
  if (!isJsonObject(data)) throw new GatewayError("CONFIG_INVALID", `${file}: it does not hold an object.`);
  return data;
}

/** Parses plain JSON itself: a file of several megabytes takes a fraction of the time. */
async function parseDataFile(file: string): Promise<unknown> {
  if (extname(file).toLowerCase() === ".json") {
    const text = await readFile(file, "utf8").catch(() => "");
    try {
      if (!text.includes("__proto__")) return JSON.parse(text);
    } catch {
      // With comments in it, or broken: then the other parser says where.
    }
  }
  return readDataFile(file);
}

/** Returns the path of the user's own config: `toolpipe/toolpipe.config.json` in the folder for settings of programs. */
export function getOwnConfigFile(machine: Machine): string {
  const own = getVariable(machine, "TOOLPIPE_HOME");
  return own
    ? join(resolve(own), "toolpipe.config.json")
    : join(programConfig(machine), "toolpipe", "toolpipe.config.json");
}
