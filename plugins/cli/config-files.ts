import { access, constants } from "node:fs/promises";
import { basename, join } from "node:path";
import * as v from "valibot";
import { GatewayError } from "../../core/errors.ts";
import { describeIssue } from "../../core/issues.ts";
import { isJsonObject } from "../../core/json.ts";
import type { JsonObject, LoadedConfig, SelectedConfig } from "../../core/mod.ts";
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
const switchedOff: Readonly<JsonObject> = Object.freeze({});

/** Whether a config is switched off, so that it has no servers. */
export function isSwitchedOff({ settings }: LoadedConfig): boolean {
  const sources = settings?.["sources"];
  return isJsonObject(sources) && sources["mcpServers"] === switchedOff;
}

/** Selects our part of a config file: the section `discovery` of AnyGPT's files, all of ours. */
export function selectConfig(content: JsonObject, file: string): SelectedConfig | undefined {
  const { discovery, options, plugins, limits, preset } = content;
  // The preset `gateway` has options of this name.
  if (preset === "gateway") return { config: content };
  if (!isJsonObject(discovery))
    return basename(file).startsWith("anygpt.config.") ? undefined : { config: content };
  const { enabled, ...config } = discovery;
  const parsed = v.safeParse(v.optional(trueOrFalse), enabled);
  if (!parsed.success) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `${file}: ${describeIssue(parsed.issues[0], "discovery.enabled")}`,
    );
  }
  // A config that is switched off is still a config, so that no servers are imported in its place.
  if (enabled === false) return { config: { mcpServers: switchedOff } };
  // What stands beside the section counts too; within it, it counts first.
  return {
    section: "discovery",
    toFilePath: (path) => toFilePath(path, content, discovery),
    config: {
      ...(limits !== undefined && { limits }),
      ...config,
      ...merge("options", options, config["options"], (within, beside) => ({
        ...(beside as object),
        ...(within as object),
      })),
      ...merge("plugins", plugins, config["plugins"], (within, beside) => [
        ...(beside as unknown[]),
        ...(within as unknown[]),
      ]),
    },
  };
}

/** Returns the path in the file of a path in the merged config: in the section, unless it stands beside it only. */
function toFilePath(path: string, content: JsonObject, section: JsonObject): string {
  const [key = "", name = ""] = path.split(".");
  const within = section[key];
  const isBeside =
    ["options", "plugins", "limits"].includes(key) &&
    content[key] !== undefined &&
    (within === undefined || (key === "options" && isJsonObject(within) && !Object.hasOwn(within, name)));
  if (isBeside) return path;
  // Plugins beside the section come before those in it.
  const { plugins } = content;
  if (key === "plugins" && Array.isArray(plugins) && /^\d+$/.test(name)) {
    const index = Number(name) - plugins.length;
    return index < 0 ? path : `discovery.plugins.${index}`;
  }
  return `discovery.${path}`;
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
