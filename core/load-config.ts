import { access } from "node:fs/promises";
import { extname, resolve } from "node:path";
import * as v from "valibot";
import { claimKeys, configureAll } from "./assemble.ts";
import { type Config, configSchema } from "./config.ts";
import { readDataFile } from "./data-file.ts";
import { GatewayError } from "./errors.ts";
import type { GatewayOptions } from "./gateway.ts";
import { describeIssue } from "./issues.ts";
import { isJsonObject, kindOf } from "./json.ts";
import { inFile, loadFrom, loadPlugin, loadPreset, type PresetTable } from "./load-parts.ts";
import type { Plugin } from "./plugin.ts";
import type { Preset } from "./preset.ts";
import type { JsonObject } from "./tool.ts";

/** The endings a config file can have, in the order in which they are looked for. */
export const configEndings: readonly string[] = [".ts", ".mts", ".js", ".mjs", ".json", ".yaml"];

/** What {@link loadConfig} is given. */
export interface LoadConfigOptions {
  /** The presets that a config can name. */
  readonly presets: PresetTable;
  /** The folder to look in; the current one by default. */
  readonly cwd?: string;
  /** The file to read, instead of looking for one. */
  readonly file?: string | undefined;
  /** Whether to look for a file where none is named; true by default. */
  readonly look?: boolean;
  /** The preset to use, whatever the file says. */
  readonly preset?: string | undefined;
  /** Files of other names to look for where there is none of ours, the first of them first. */
  readonly otherFiles?: readonly string[];
  /** What of a file is the config, where it is not all of it; `undefined` if the file has none. */
  readonly select?: (content: JsonObject, file: string) => unknown;
}

/** A config with everything in it loaded: what `createGateway` takes, and where it came from. */
export interface LoadedConfig extends GatewayOptions {
  readonly preset: Preset;
}

/** Finds, reads and checks a config, and loads the preset and the plugins it names. */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  const cwd = resolve(options.cwd ?? ".");
  const { file, config, extra } = await chooseConfig(cwd, options);
  const base = file ?? resolve(cwd, "toolpipe.config");
  try {
    const preset = await loadPreset(options.preset ?? config.preset ?? "anygpt", base, options.presets);
    const plugins: Plugin[] = [];
    for (const [index, plugin] of (config.plugins ?? []).entries()) {
      const path = `plugins.${index}`;
      plugins.push(
        typeof plugin === "string" ? await loadPlugin(plugin, base, path, config.options ?? {}) : plugin,
      );
    }
    const all = [...preset.plugins, ...plugins];
    const byName = claimKeys(all, extra, config.options ?? {});
    // The gateway applies them again; here a wrong one can still be told with the file it is in.
    configureAll(all, byName);
    const { limits } = config;
    return { configFile: file, preset, plugins, options: byName, ...(limits && { limits }) };
  } catch (thrown) {
    throw file === undefined ? thrown : inFile(file, thrown);
  }
}

/** The config file of a folder, if there is one. */
export async function findConfig(cwd: string): Promise<string | undefined> {
  const found: string[] = [];
  for (const ending of configEndings) {
    const file = resolve(cwd, `toolpipe.config${ending}`);
    if (await exists(file)) found.push(file);
  }
  if (found.length > 1) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `There are several config files, and only one can count: ${found.join(", ")}.`,
    );
  }
  return found[0];
}

interface ReadConfig {
  readonly file?: string;
  readonly config: Config;
  /** What is not of the core is kept apart: plugins may claim it. */
  readonly extra: Record<string, unknown>;
}

async function chooseConfig(cwd: string, options: LoadConfigOptions): Promise<ReadConfig> {
  const { select } = options;
  if (options.file === undefined && options.look === false) return { config: {}, extra: {} };
  const named = options.file === undefined ? await findConfig(cwd) : resolve(cwd, options.file);
  for (const file of named === undefined ? (options.otherFiles ?? []) : [named]) {
    if (file !== named && !(await exists(file))) continue;
    const content = await readContent(file);
    const chosen = select ? select(content, file) : content;
    if (chosen !== undefined) return { file, ...checkConfig(chosen, file) };
    if (file === named) throw new GatewayError("CONFIG_INVALID", `${file}: there is no config in it.`);
  }
  return { config: {}, extra: {} };
}

async function readContent(file: string): Promise<JsonObject> {
  if (!(await exists(file))) throw new GatewayError("CONFIG_INVALID", `${file}: there is no such file.`);
  const ending = extname(file).toLowerCase();
  const isData = [".json", ".yaml", ".yml"].includes(ending);
  if (!isData && !/^\.[cm]?[jt]s$/.test(ending)) {
    // Deno would run any other file as JavaScript.
    const expected = `${configEndings.slice(0, -1).join(", ")} or ${configEndings.at(-1)}`;
    throw new GatewayError("CONFIG_INVALID", `${file}: expected a file that ends in ${expected}`);
  }
  const raw = isData ? await readDataFile(file) : await defaultExport(file);
  if (isJsonObject(raw)) return raw;
  throw new GatewayError("CONFIG_INVALID", `${file}: the config: expected an object, found ${kindOf(raw)}`);
}

function checkConfig(raw: unknown, file: string): Pick<ReadConfig, "config" | "extra"> {
  const { $schema, preset, plugins, options, limits, ...extra } = raw as JsonObject;
  const parsed = v.safeParse(configSchema, { $schema, preset, plugins, options, limits });
  if (parsed.success) return { config: parsed.output, extra };
  throw new GatewayError("CONFIG_INVALID", `${file}: ${describeIssue(parsed.issues[0], "the config")}`);
}

async function defaultExport(file: string): Promise<unknown> {
  const module = await loadFrom(file, file, file);
  if (module["default"] === undefined)
    throw new GatewayError("CONFIG_INVALID", `${file}: it has no default export.`);
  return module["default"];
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
