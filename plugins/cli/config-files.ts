import { access, constants } from "node:fs/promises";
import { basename, join } from "node:path";
import * as v from "valibot";
import { GatewayError } from "../../core/errors.ts";
import { describeType, isJsonObject } from "../../core/json.ts";
import type { JsonObject } from "../../core/mod.ts";
import type { Machine } from "../../core/services/sources.ts";
import { trueOrFalse } from "../lib/options.ts";
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
  const { discovery, options, plugins, limits, preset } = content;
  // The preset `gateway` has options of this name.
  if (preset === "gateway") return content;
  if (!isJsonObject(discovery)) return basename(file).startsWith("anygpt.config.") ? undefined : content;
  const { enabled, ...config } = discovery;
  const parsed = v.safeParse(v.optional(trueOrFalse), enabled);
  if (!parsed.success) {
    const found = describeType(enabled);
    throw new GatewayError(
      "CONFIG_INVALID",
      `${file}: discovery.enabled: expected true or false, found ${found}`,
    );
  }
  // A config that is switched off is still a config, so that no servers are imported in its place.
  if (enabled === false) return { mcpServers: switchedOff };
  // What stands beside the section counts too; within it, it counts first.
  return {
    ...(limits !== undefined && { limits }),
    ...config,
    ...merge("options", options, config["options"], (a, b) => ({ ...(b as object), ...(a as object) })),
    ...merge("plugins", plugins, config["plugins"], (a, b) => [...(b as unknown[]), ...(a as unknown[])]),
  };
}

/** Merges a value beside the section with the one in it. A value of the wrong type is left to be refused. */
function merge(
  key: string,
  beside: unknown,
  within: unknown,
  join: (within: unknown, beside: unknown) => unknown,
): JsonObject {
  if (beside === undefined) return {};
  if (within === undefined) return { [key]: beside };
  const isSame =
    key === "plugins" ? [beside, within].every(Array.isArray) : [beside, within].every(isJsonObject);
  return { [key]: isSame ? join(within, beside) : beside };
}
