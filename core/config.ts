import * as v from "valibot";
import type { BuiltinKeys, BuiltinOptions, PresetName } from "./config-types.ts";
import { EXECUTE_MS, HOOK_MS, type HookLimits, LONGEST_TIMER_MS } from "./hooks.ts";
import { isPlugin, type Plugin } from "./plugin.ts";
import { isPreset, type Preset } from "./preset.ts";

/** The content of a config file. */
export interface Config extends Omit<BuiltinKeys, "discovery"> {
  /** Lets an editor complete a JSON config: `./node_modules/toolpipe/core/config.schema.json`. */
  readonly $schema?: string;
  /** A preset by name, by path (`./my-preset.ts`), or imported; `anygpt` by default. */
  readonly preset?: PresetName | Preset | (string & Record<never, never>);
  /** Plugins in addition to the preset's, or the paths or package names of their modules. */
  readonly plugins?: readonly (Plugin | string)[];
  /** Options that replace those of plugins, by plugin name. */
  readonly options?: BuiltinOptions & { readonly [plugin: string]: object | undefined };
  /** Time limits of hooks. */
  readonly limits?: HookLimits;
  /**
   * The section of an `anygpt.config.ts`, beside which only `options`, `plugins` and `limits` count; with the preset
   * `gateway`, the options of its plugin `discovery`.
   */
  readonly discovery?: DiscoverySection | NonNullable<BuiltinKeys["discovery"]>;
}

/** The section `discovery` of an AnyGPT config. */
export interface DiscoverySection extends Omit<Config, "$schema" | "discovery"> {
  /** Whether there are servers at all; true if it is left out. */
  readonly enabled?: boolean;
}

const milliseconds = v.pipe(
  v.number(),
  v.integer("a whole number of milliseconds"),
  v.minValue(1, "at least 1 ms"),
  v.maxValue(LONGEST_TIMER_MS, "what a timer can hold"),
);

/** Schema of {@link HookLimits}. */
export const limitsSchema: v.GenericSchema<HookLimits> = v.strictObject({
  hookMs: v.optional(
    v.pipe(
      milliseconds,
      v.description(
        `Milliseconds that all hooks of one name may take together, and the set-up of a plugin; ${HOOK_MS} if it is left out.`,
      ),
    ),
  ),
  executeMs: v.optional(
    v.pipe(
      milliseconds,
      v.description(
        `Milliseconds that the execution of a call may take where no plugin such as "timeout" limits it; ${EXECUTE_MS} if it is left out.`,
      ),
    ),
  ),
}) as v.GenericSchema<HookLimits>;

/** Checks the keys of a config that core reads. Plugins check their options and the keys that they declare. */
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
  limits: v.optional(limitsSchema),
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
