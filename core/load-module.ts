import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { extname } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { GatewayError } from "./errors.ts";
import { nearest } from "./nearest.ts";
import { isPlugin, isPluginFactory, type Plugin, type PluginFactory } from "./plugin.ts";
import { isPreset, type Preset } from "./preset.ts";

/**
 * Imports a module, TypeScript included, resolved from a file. In it, `toolpipe` is this very package and `valibot` its
 * copy, so that a config without node_modules works. Modules are read again every time, so that a config can be
 * reloaded.
 *
 * jiti is used on every runtime: Node 20 cannot strip types, and neither Node nor Deno can resolve `toolpipe` to this
 * package from a folder in which it is not installed.
 */
export async function loadModule(specifier: string, from: string): Promise<Record<string, unknown>> {
  const alias = await listOwnModules();
  if (specifier.startsWith("toolpipe/") && !Object.hasOwn(alias, specifier)) {
    const hint = nearest(specifier, Object.keys(alias));
    throw new GatewayError(
      "CONFIG_INVALID",
      `There is no module "${specifier}"${hint ? `; did you mean "${hint}"?` : "."}`,
    );
  }
  const own = Object.hasOwn(alias, specifier) ? alias[specifier] : undefined;
  if (own) return await import(pathToFileURL(own).href);
  const { createJiti } = await import("jiti");
  const core = await import("./mod.ts");
  const inMemory: Record<string, unknown> = {
    toolpipe: core,
    // The package of the AnyGPT specification, of which a config uses nothing but this function.
    [ANYGPT_CONFIG]: { config: core.defineConfig, defineConfig: core.defineConfig },
  };
  const jiti = createJiti(pathToFileURL(from).href, {
    alias,
    virtualModules: inMemory,
    // The default folder is a shared temporary one, where other users could leave code that would be run.
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
  });
  const file = jiti.esmResolve(specifier, { try: true });
  if (!file) return await jiti.import(specifier);
  const filename = fileURLToPath(file);
  const source = await readFile(filename, "utf8");
  // Modules of this package that the file names are those in memory; only modules that its imports name run twice.
  for (const [, name = ""] of source.matchAll(/["'](toolpipe\/[\w/-]+)["']/g)) {
    const mentioned = Object.hasOwn(alias, name) ? alias[name] : undefined;
    if (mentioned) inMemory[name] = await import(pathToFileURL(mentioned).href);
  }
  const bare = addConfigImport(source);
  const isPlainModule = /\.m?js$/.test(filename) && /^\s*(import|export)\b/m.test(source);
  if (bare === undefined && (!isPlainModule || filename.includes("node_modules")))
    return await jiti.import(specifier);
  // Not `jiti.import`: it tries the runtime's import first, which never reads a file twice, and on failure runs it again.
  const options = { filename, ext: extname(filename), async: true, forceTranspile: true };
  return (await jiti.evalModule(bare ?? source, options)) as Record<string, unknown>;
}

const ANYGPT_CONFIG = "@anygpt/config";

/** Adds the import of `config` to a module that only calls it, as the AnyGPT specification does; else undefined. */
function addConfigImport(source: string): string | undefined {
  const isUsed = /(?:^\s*export\s+default|=)\s+config\s*[(<]/m.test(source);
  // Only an import that begins a line: a comment may speak of both words.
  const isDeclared = /\b(?:const|let|var|function)\s+config\b|^\s*import\b[^;'"]*\bconfig\b/m.test(source);
  return isUsed && !isDeclared ? `import { config } from "${ANYGPT_CONFIG}"; ${source}` : undefined;
}

/** Lists functions that load the plugins of this package. */
export async function listOwnPlugins(): Promise<(() => Promise<Record<string, unknown>>)[]> {
  const modules = Object.entries(await listOwnModules()).filter(([name]) =>
    name.startsWith("toolpipe/plugins/"),
  );
  return modules.map(
    ([, file]) =>
      () =>
        import(pathToFileURL(file).href),
  );
}

/** Subpaths of former releases with their modules, kept for one release. */
export const formerSubpaths: Readonly<Record<string, string>> = {
  "plugins/domains": "plugins/discovery/domains",
  "plugins/export": "plugins/discovery/capability-files",
  "plugins/registry": "plugins/registries",
  "plugins/upstreams/openapi": "plugins/openapi",
};

/** Maps every module name of this package to its file: a source when run from sources, else a built file. */
async function listOwnModules(): Promise<Record<string, string>> {
  const extension = extname(fileURLToPath(import.meta.url));
  const file = (path: string): string => fileURLToPath(new URL(`../${path}${extension}`, import.meta.url));
  const modules: Record<string, string> = {};
  for (const folder of ["plugins", "presets"]) {
    for (const entry of await readdir(new URL(`../${folder}`, import.meta.url), { withFileTypes: true })) {
      const name = entry.isDirectory() ? entry.name : entry.name.slice(0, -extension.length);
      const path = entry.isDirectory() ? `${folder}/${name}/mod` : `${folder}/${name}`;
      const isModule = entry.isDirectory()
        ? existsSync(file(path))
        : entry.name === name + extension && !/^_|\.d$/.test(name);
      if (isModule) modules[`toolpipe/${folder}/${name}`] = file(path);
    }
  }
  for (const [former, path] of Object.entries(formerSubpaths))
    modules[`toolpipe/${former}`] = file(`${path}/mod`);
  modules["toolpipe"] = file("core/mod");
  modules["toolpipe/services"] = file("core/services/mod");
  modules["toolpipe/anygpt"] = file("presets/compat/mod");
  // A plugin in a folder where only toolpipe is installed uses this copy for its options.
  modules["valibot"] = createRequire(import.meta.url).resolve("valibot");
  return modules;
}

/** Presets by name, each loaded when it is chosen. */
export type PresetTable = Readonly<Record<string, () => Promise<Preset>>>;

/** Loads a preset by its name in the table, or by the path of its module. */
export async function loadPreset(preset: string | Preset, base: string, table: PresetTable): Promise<Preset> {
  if (typeof preset !== "string") return preset;
  const builtin = Object.hasOwn(table, preset) ? table[preset] : undefined;
  if (builtin) return builtin();
  const names = Object.keys(table);
  if (!/[./]/.test(preset)) {
    const hint = nearest(preset, names);
    const expected = names.map((name) => JSON.stringify(name)).join(", ");
    const found = preset.length <= 40 ? JSON.stringify(preset) : "a longer string";
    throw new GatewayError(
      "CONFIG_INVALID",
      `preset: expected ${expected} or the path of a preset, found ${found}${hint ? `; did you mean "${hint}"?` : ""}`,
    );
  }
  return pickExport(await importModule(preset, base, "preset"), isPreset, preset, "preset", "preset");
}

/** The plugin that a module exports, or its factory. */
export async function loadPlugin(
  specifier: string,
  base: string,
  path: string,
): Promise<Plugin | PluginFactory> {
  return pickExport(await importModule(specifier, base, path), isPluginOrFactory, specifier, path, "plugin");
}

/** Loads the driver that a module exports: as its default, under the name of its kind, or as the only export. */
export async function loadDriver(kind: string, specifier: string, base: string): Promise<unknown> {
  const module = await importModule(specifier, base, kind);
  const [only, ...others] = Object.values(module);
  const found = module["default"] ?? module[kind] ?? (others.length === 0 ? only : undefined);
  if (found !== undefined) return found;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${kind}: expected "${specifier}" to export a ${kind} as its default, found ${Object.keys(module).join(", ") || "nothing"}`,
  );
}

/** Finds the built-in plugin that provides a service. Loads every plugin, so it is for errors only. */
export async function findProvider(service: string): Promise<string | undefined> {
  for (const load of await listOwnPlugins()) {
    const module = await load().catch(() => ({}));
    const factory = Object.values(module)
      .filter(isPluginFactory)
      .find(({ provides }) => provides.includes(service));
    if (factory) return factory.pluginName;
  }
}

/** Returns the default export of a module, the one export that fits, or of several the one named like the module. */
function pickExport<T>(
  module: Record<string, unknown>,
  fits: (value: unknown) => value is T,
  specifier: string,
  path: string,
  what: string,
): T {
  if (fits(module["default"])) return module["default"];
  const fitting = Object.values(module).filter(fits);
  const base = /([^/]*?)(\.\w+)?$/.exec(specifier)?.[1] ?? "";
  const named = fitting.filter((one) => isNamedLike(one, base));
  const [only, ...others] = fitting.length === 1 ? fitting : named;
  if (only && others.length === 0) return only;
  const found = fitting.length === 0 ? "none" : `${fitting.length}, none of them the default`;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${path}: expected "${specifier}" to export a ${what}, found ${found}`,
  );
}

/** Whether a plugin has the name of a module, perhaps with a word before it. */
function isNamedLike(part: unknown, base: string): boolean {
  const { pluginName, name } = part as { readonly pluginName?: unknown; readonly name?: unknown };
  const own = String(pluginName ?? name);
  return own === base || own.endsWith(`-${base}`);
}

function isPluginOrFactory(value: unknown): value is Plugin | PluginFactory {
  return isPlugin(value) || isPluginFactory(value);
}

/** Imports a module; a failure becomes one line that names the option or file that asks for it. */
export async function importModule(
  specifier: string,
  base: string,
  path: string,
): Promise<Record<string, unknown>> {
  try {
    return await loadModule(specifier, base);
  } catch (thrown) {
    if (GatewayError.is(thrown)) throw addFileName(path, thrown);
    const what = specifier === path ? "it" : `"${specifier}"`;
    throw new GatewayError("CONFIG_INVALID", `${path}: ${what} could not be loaded: ${toReason(thrown)}`, {
      cause: thrown,
    });
  }
}

/** Describes a failure in one line, with its position if the parser gives one. */
function toReason(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "it threw a value that is not an error";
  const [first = "", second = ""] = thrown.message.replace(/^ParseError: /, "").split("\n");
  const place = /^\s*(\S.*:\d+):\d+$/.exec(second)?.[1];
  return `${first.trim()}${place ? ` (at ${place})` : ""}`;
}

/** Adds the name of a file to the message of an error. */
export function addFileName(file: string, thrown: unknown): unknown {
  if (!GatewayError.is(thrown) || thrown.message.startsWith(file)) return thrown;
  return new GatewayError(thrown.kind, `${file}: ${thrown.message}`, { cause: thrown, data: thrown.data });
}
