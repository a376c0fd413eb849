import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Machine } from "../../../core/services/sources.ts";

/** The computer this runs on, as it is now. */
export function thisMachine(project: string = process.cwd()): Machine {
  return {
    platform: process.platform,
    home: homedir(),
    env: { ...process.env },
    project: resolve(project),
  };
}

/** The value of an environment variable; on Windows, its name may be written in any case. */
export function variable({ platform, env }: Machine, name: string): string | undefined {
  if (Object.hasOwn(env, name)) return env[name];
  if (platform !== "win32") return undefined;
  const key = Object.keys(env).find((candidate) => candidate.toUpperCase() === name.toUpperCase());
  return key === undefined ? undefined : env[key];
}

/** The folder that a variable names, or else a default. */
export function folderOf(machine: Machine, name: string, otherwise: string): string {
  const folder = variable(machine, name);
  return folder !== undefined && isAbsolute(folder) ? folder : otherwise;
}

/** `$XDG_CONFIG_HOME` or `~/.config`, which many command-line programs use on every system. */
export function dotConfig(machine: Machine): string {
  return folderOf(machine, "XDG_CONFIG_HOME", join(machine.home, ".config"));
}

/** `%APPDATA%`. */
export function roaming(machine: Machine): string {
  return folderOf(machine, "APPDATA", join(machine.home, "AppData", "Roaming"));
}

/** `%LOCALAPPDATA%`. */
export function localAppData(machine: Machine): string {
  return folderOf(machine, "LOCALAPPDATA", join(machine.home, "AppData", "Local"));
}

/** Where a desktop application keeps its data. */
export function desktopData(machine: Machine): string {
  if (machine.platform === "darwin") return join(machine.home, "Library", "Application Support");
  return machine.platform === "win32" ? roaming(machine) : dotConfig(machine);
}

/** Where a command-line program keeps its settings: `%APPDATA%` on Windows, `~/.config` elsewhere. */
export function programConfig(machine: Machine): string {
  return machine.platform === "win32" ? roaming(machine) : dotConfig(machine);
}

/** A path with `~` in it as a person writes it. */
export function untilde(path: string, { home }: Machine): string {
  return /^~(?=$|[/\\])/.test(path) ? join(home, path.slice(1)) : path;
}

/** The full path of what a person writes: `~` is the home folder, and what is relative begins in the project. */
export function pathFrom(path: string, machine: Machine): string {
  return resolve(machine.project, untilde(path, machine));
}
