import type { OptionsByPlugin } from "./assemble.ts";
import { GatewayError } from "./errors.ts";
import { loadModule, ownPlugins } from "./load-module.ts";
import { nearest } from "./nearest.ts";
import { isPlugin, isPluginFactory, type Plugin, type PluginFactory } from "./plugin.ts";
import { isPreset, type Preset } from "./preset.ts";

/** Presets by name, each loaded when it is chosen. */
export type PresetTable = Readonly<Record<string, () => Promise<Preset>>>;

/** A preset by its name in the table, by the path of its module, or as it is. */
export async function loadPreset(preset: string | Preset, base: string, table: PresetTable): Promise<Preset> {
  if (typeof preset !== "string") return preset;
  const builtin = Object.hasOwn(table, preset) ? table[preset] : undefined;
  if (builtin) return builtin();
  const names = Object.keys(table);
  if (!/[./]/.test(preset)) {
    const hint = nearest(preset, names);
    const expected = names.map((name) => JSON.stringify(name)).join(", ");
    const found = preset.length <= 40 ? JSON.stringify(preset) : "a longer text";
    throw new GatewayError(
      "CONFIG_INVALID",
      `preset: expected ${expected} or the path of a preset, found ${found}${hint ? `; did you mean "${hint}"?` : ""}`,
    );
  }
  return pick(await loadFrom(preset, base, "preset"), isPreset, preset, "preset", "preset");
}

/** The plugin that a module exports, made with its options where the module exports what makes it. */
export async function loadPlugin(
  specifier: string,
  base: string,
  path: string,
  options: OptionsByPlugin,
): Promise<Plugin> {
  const module = await loadFrom(specifier, base, path);
  const found = pick(module, isPluginOrFactory, specifier, path, "plugin");
  if (!isPluginFactory(found)) return found;
  // Given here and not only later, because a plugin may have options it cannot be made without.
  return (found as unknown as (options?: object) => Plugin)(options[found.pluginName]);
}

/** The driver that a module exports: as its default, under the name of its kind, or as the only export. */
export async function loadDriver(kind: string, specifier: string, base: string): Promise<unknown> {
  const module = await loadFrom(specifier, base, kind);
  const [only, ...others] = Object.values(module);
  const found = module["default"] ?? module[kind] ?? (others.length === 0 ? only : undefined);
  if (found !== undefined) return found;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${kind}: expected "${specifier}" to export a ${kind} as its default, found ${Object.keys(module).join(", ") || "nothing"}`,
  );
}

/** The built-in plugin that provides a service. Loads every plugin, so it is for errors only. */
export async function findProvider(service: string): Promise<string | undefined> {
  for (const load of await ownPlugins()) {
    const module = await load().catch(() => ({}));
    const factory = Object.values(module)
      .filter(isPluginFactory)
      .find(({ provides }) => provides.includes(service));
    if (factory) return factory.pluginName;
  }
}

/** A module's default export, or else the one export that fits. */
function pick<T>(
  module: Record<string, unknown>,
  fits: (value: unknown) => value is T,
  specifier: string,
  path: string,
  what: string,
): T {
  if (fits(module["default"])) return module["default"];
  const fitting = Object.values(module).filter(fits);
  if (fitting.length === 1 && fitting[0]) return fitting[0];
  const found = fitting.length === 0 ? "none" : `${fitting.length}, none of them the default`;
  throw new GatewayError(
    "CONFIG_INVALID",
    `${path}: expected "${specifier}" to export a ${what}, found ${found}`,
  );
}

function isPluginOrFactory(value: unknown): value is Plugin | PluginFactory {
  return isPlugin(value) || isPluginFactory(value);
}

/** Imports a module; a failure is one line that names the place it was asked for. */
export async function loadFrom(
  specifier: string,
  base: string,
  path: string,
): Promise<Record<string, unknown>> {
  try {
    return await loadModule(specifier, base);
  } catch (thrown) {
    if (GatewayError.is(thrown)) throw inFile(path, thrown);
    const what = specifier === path ? "it" : `"${specifier}"`;
    throw new GatewayError("CONFIG_INVALID", `${path}: ${what} could not be loaded: ${reasonOf(thrown)}`, {
      cause: thrown,
    });
  }
}

/** What went wrong, in one line, with the place where the parser tells it. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return "it threw something that is not an error";
  const [first = "", second = ""] = thrown.message.replace(/^ParseError: /, "").split("\n");
  const place = /^\s*(\S.*:\d+):\d+$/.exec(second)?.[1];
  return `${first.trim()}${place ? ` (at ${place})` : ""}`;
}

/** The same error, with the file it is about. */
export function inFile(file: string, thrown: unknown): unknown {
  if (!GatewayError.is(thrown) || thrown.message.startsWith(file)) return thrown;
  return new GatewayError(thrown.kind, `${file}: ${thrown.message}`, { cause: thrown, data: thrown.data });
}
