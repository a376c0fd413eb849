import { access } from "node:fs/promises";
import { extname, resolve } from "node:path";
import * as v from "valibot";
import { type Configurable, checkOptionNames, claimKeys, type OptionsByPlugin } from "./assemble.ts";
import { type Config, configSchema } from "./config.ts";
import { readDataFile } from "./data-file.ts";
import { GatewayError } from "./errors.ts";
import type { GatewayOptions } from "./gateway.ts";
import { describeIssue, placeStart } from "./issues.ts";
import { describeType, isJsonObject } from "./json.ts";
import { addFileName, importModule, loadPlugin, loadPreset, type PresetTable } from "./load-module.ts";
import { isPluginFactory, type Plugin, type PluginFactory } from "./plugin.ts";
import type { Preset } from "./preset.ts";
import type { JsonObject } from "./tool.ts";

/** Extensions of a config file, in the order in which they are tried. */
export const configEndings: readonly string[] = [".ts", ".mts", ".js", ".mjs", ".json", ".yaml"];

/** Options of {@link loadConfig}. */
export interface LoadConfigOptions {
  /** Presets that a config can name. */
  readonly presets: PresetTable;
  /** Folder to search; the current one by default. */
  readonly cwd?: string;
  /** The file to read, instead of searching for one. */
  readonly file?: string | undefined;
  /** Whether to search for a file if none is named; true by default. */
  readonly look?: boolean;
  /** The preset to use instead of the one in the file. */
  readonly preset?: string | undefined;
  /** Files to try if there is no `toolpipe.config` file, the first of them first. */
  readonly otherFiles?: readonly string[];
  /** Selects the config in the content of a file; `undefined` if the file has none. */
  readonly select?: (content: JsonObject, file: string) => SelectedConfig | undefined;
}

/** The part of a file that is the config. */
export interface SelectedConfig {
  readonly config: unknown;
  /** Section of the file that the config is, such as `discovery`. */
  readonly section?: string | undefined;
  /** Returns the path in the file of a path in the config; the path in the section by default. */
  toFilePath?(path: string): string;
}

/** A config with its preset and plugins loaded, for `createGateway`. */
export interface LoadedConfig extends GatewayOptions {
  readonly preset: Preset;
  /** The options of the config by plugin, as they are written. The plugins have them already. */
  readonly settings?: OptionsByPlugin;
}

/** Finds, reads and checks a config, and loads the preset and the plugins it names. */
export async function loadConfig(options: LoadConfigOptions): Promise<LoadedConfig> {
  const cwd = resolve(options.cwd ?? ".");
  const { file, section, config, extra, toFilePath } = await chooseConfig(cwd, options);
  const base = file ?? resolve(cwd, "toolpipe.config");
  let known: readonly Configurable[] = [];
  try {
    const preset = await loadPreset(options.preset ?? config.preset ?? "anygpt", base, options.presets);
    const parts: (Plugin | PluginFactory)[] = [];
    for (const [index, part] of (config.plugins ?? []).entries())
      parts.push(typeof part === "string" ? await loadPlugin(part, base, `plugins.${index}`) : part);
    known = [...preset.plugins, ...parts.map(toConfigurable)];
    const settings = claimKeys(known, extra, config.options ?? {});
    checkOptionNames(known, settings);
    const create = (part: Plugin | PluginFactory): Plugin => configurePart(part, settings);
    const { limits } = config;
    return {
      configFile: file,
      ...(section !== undefined && { configSection: section }),
      preset: { ...preset, plugins: preset.plugins.map(create) },
      plugins: parts.map(create),
      settings,
      ...(limits && { limits }),
    };
  } catch (thrown) {
    if (file === undefined) throw thrown;
    const { placeOption } = await import("./option-path.ts");
    throw addFileName(file, placeOption(thrown, { known, config, extra, toFilePath }));
  }
}

function toConfigurable(part: Plugin | PluginFactory): Configurable {
  if (!isPluginFactory(part)) return part;
  const { pluginName: name, keys, takesString } = part;
  return { name, keys, takesString, configure: (options) => part(options as never) };
}

/** Gives a plugin the options of the config; a factory creates it with them, since some cannot be left out. */
function configurePart(part: Plugin | PluginFactory, settings: OptionsByPlugin): Plugin {
  if (isPluginFactory(part)) return part(settings[part.pluginName] as never);
  const given = settings[part.name];
  return given ? (part.configure?.(given as never) ?? part) : part;
}

/** Finds the config file of a folder. */
export async function findConfig(cwd: string): Promise<string | undefined> {
  const found: string[] = [];
  for (const ending of configEndings) {
    const file = resolve(cwd, `toolpipe.config${ending}`);
    if (await exists(file)) found.push(file);
  }
  if (found.length > 1) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `There are several config files: ${found.join(", ")}. Keep one of them.`,
    );
  }
  return found[0];
}

interface ReadConfig {
  readonly file?: string;
  readonly section?: string | undefined;
  readonly config: Config;
  /** Keys that the core does not know: plugins may claim them. */
  readonly extra: Record<string, unknown>;
  toFilePath(path: string): string;
}

async function chooseConfig(cwd: string, options: LoadConfigOptions): Promise<ReadConfig> {
  const { select } = options;
  const none: ReadConfig = { config: {}, extra: {}, toFilePath: (path) => path };
  if (options.file === undefined && options.look === false) return none;
  const named = options.file === undefined ? await findConfig(cwd) : resolve(cwd, options.file);
  for (const file of named === undefined ? (options.otherFiles ?? []) : [named]) {
    if (file !== named && !(await exists(file))) continue;
    const content = await readContent(file);
    const chosen: SelectedConfig | undefined = select ? select(content, file) : { config: content };
    if (chosen !== undefined) {
      const { config, section } = chosen;
      const toFilePath = (path: string): string =>
        chosen.toFilePath?.(path) ?? (section === undefined ? path : `${section}.${path}`);
      return { file, section, toFilePath, ...checkConfig(config, file, toFilePath) };
    }
    if (file === named) throw new GatewayError("CONFIG_INVALID", `${file}: the file has no config.`);
  }
  return none;
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
  const raw = isData ? await readDataFile(file) : await importDefault(file);
  if (isJsonObject(raw)) return raw;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${file}: the config: expected an object, found ${describeType(raw)}`,
  );
}

function checkConfig(
  raw: unknown,
  file: string,
  toFilePath: ReadConfig["toFilePath"],
): Pick<ReadConfig, "config" | "extra"> {
  const { $schema, preset, plugins, options, limits, ...extra } = raw as JsonObject;
  const parsed = v.safeParse(configSchema, { $schema, preset, plugins, options, limits });
  if (parsed.success) return { config: parsed.output, extra };
  const issue = placeStart(describeIssue(parsed.issues[0], "the config"), toFilePath);
  throw new GatewayError("CONFIG_INVALID", `${file}: ${issue}`);
}

async function importDefault(file: string): Promise<unknown> {
  const module = await importModule(file, file, file);
  if (module["default"] === undefined)
    throw new GatewayError("CONFIG_INVALID", `${file}: the module has no default export.`);
  return module["default"];
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
