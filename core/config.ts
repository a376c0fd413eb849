import * as v from "valibot";
import type { BuiltinKeys, BuiltinOptions, PresetName } from "../presets/mod.ts"; // types only: nothing of a preset is loaded here
import { isPlugin, type Plugin } from "./plugin.ts";
import { isPreset, type Preset } from "./preset.ts";

/** What a config file holds. */
export interface Config extends BuiltinKeys {
  /** Lets an editor complete a JSON config: `./node_modules/toolpipe/core/config.schema.json`. */
  readonly $schema?: string;
  /** A preset by name, by path (`./my-preset.ts`), or imported. `anygpt` if it is left out. */
  readonly preset?: PresetName | Preset | (string & Record<never, never>);
  /** Appended to the preset's: plugins, or the paths or package names of their modules. */
  readonly plugins?: readonly (Plugin | string)[];
  /** Options that replace those of plugins, by plugin name. */
  readonly options?: BuiltinOptions & { readonly [plugin: string]: object | undefined };
}

/** Checks what the core reads of a config; options, and the keys that plugins claim, are checked by the plugins. */
export const configSchema: v.GenericSchema<unknown, Config> = v.strictObject({
  $schema: v.optional(v.string()),
  preset: v.optional(
    v.union([v.string(), v.custom<Preset>(isPreset)], "a preset, or the name or path of one"),
  ),
  plugins: v.optional(
    v.array(
      v.union([v.string(), v.custom<Plugin>(isPlugin)], "a plugin, or the path of one"),
      "a list of plugins",
    ),
  ),
  options: v.optional(
    v.record(v.string(), v.looseObject({}, "an object of options"), "an object of options by plugin name"),
  ),
}) as v.GenericSchema<unknown, Config>;

/**
 * Gives a config its type, so that an editor completes it. Returns it unchanged.
 *
 * @example
 * ```ts
 * import { defineConfig } from "toolpipe";
 *
 * export default defineConfig({ preset: "anygpt", options: { timeout: { ms: 10_000 } } });
 * ```
 */
export function defineConfig(config: Config): Config {
  return config;
}
