import { access, constants } from "node:fs/promises";
import { basename, join } from "node:path";
import { isJsonObject } from "../../core/json.ts";
import type { JsonObject } from "../../core/mod.ts";
import type { Machine } from "../../core/services/sources.ts";
import { ownConfigFile } from "../lib/config-file/own-config.ts";
import { thisMachine } from "../lib/server-entry/machine.ts";

/** Where a config is looked for in a folder after our own names for it, in the order of the AnyGPT specification. */
export function projectFiles(cwd: string): readonly string[] {
  return [join(cwd, ".anygpt", "mcp-discovery.config.ts"), join(cwd, "anygpt.config.ts")];
}

/** Where a config is looked for that is a person's own, and in no project. */
export function personFiles(machine: Machine = thisMachine(process.cwd())): readonly string[] {
  return [join(machine.home, ".anygpt", "mcp-discovery.config.ts"), ownConfigFile(machine)];
}

/** Everywhere a config is looked for where a folder has none under our own names, in this order. */
export function otherFiles(cwd: string): readonly string[] {
  return [...projectFiles(cwd), ...personFiles()];
}

/** The first of these files that can be read. */
export async function firstThere(files: readonly string[]): Promise<string | undefined> {
  for (const file of files) {
    const there = await access(file, constants.R_OK).then(
      () => true,
      () => false,
    );
    if (there) return file;
  }
}

/** What stands in place of the servers of a config that is switched off. */
export const switchedOff: Readonly<JsonObject> = Object.freeze({});

/** The part of a file that is for us: in AnyGPT's files the section `discovery`, in ours everything. */
export function selectConfig(content: JsonObject, file: string): JsonObject | undefined {
  const { discovery } = content;
  if (!isJsonObject(discovery)) return basename(file).startsWith("anygpt.config.") ? undefined : content;
  const { enabled, ...config } = discovery;
  // Switched off, it serves nothing; it is still a config, so nothing else is imported in its place.
  return enabled === false ? { mcpServers: switchedOff } : config;
}
