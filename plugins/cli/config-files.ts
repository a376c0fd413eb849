import { access, constants } from "node:fs/promises";
import { basename, join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import type { JsonObject } from "../../core/mod.ts";
import type { Machine } from "../../core/services/sources.ts";
import { getOwnConfigFile, thisMachine } from "../lib/server-entry/machine.ts";

/** Lists the config files of a folder beside our own names, in the order of the AnyGPT specification. */
export function projectFiles(cwd: string): readonly string[] {
  return [join(cwd, ".anygpt", "mcp-discovery.config.ts"), join(cwd, "anygpt.config.ts")];
}

/** Lists the config files of the user. */
export function userFiles(machine: Machine = thisMachine(process.cwd())): readonly string[] {
  return [join(machine.home, ".anygpt", "mcp-discovery.config.ts"), getOwnConfigFile(machine)];
}

/** Lists all config files that are tried if a folder has none under our own names, in order. */
export function otherFiles(cwd: string): readonly string[] {
  return [...projectFiles(cwd), ...userFiles()];
}

/** Finds the first file that can be read. */
export async function findReadable(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const isReadable = await access(file, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (isReadable) return file;
  }
}

/** Servers of a config that is switched off. */
export const switchedOff: Readonly<JsonObject> = Object.freeze({});

/** Selects our part of a config file: the section `discovery` of AnyGPT's files, all of ours. */
export function selectConfig(content: JsonObject, file: string): JsonObject | undefined {
  const { discovery } = content;
  if (!isJsonObject(discovery)) return basename(file).startsWith("anygpt.config.") ? undefined : content;
  const { enabled, ...config } = discovery;
  // A config that is switched off is still a config, so that no servers are imported in its place.
  return enabled === false ? { mcpServers: switchedOff } : config;
}
