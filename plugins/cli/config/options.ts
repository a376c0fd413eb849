import type * as v from "valibot";
import { GatewayError } from "../../../core/errors.ts";
import { listOwnPlugins } from "../../../core/load-module.ts";
import { nearest } from "../../../core/nearest.ts";
import { isPluginFactory } from "../../../core/plugin.ts";
import { configArgs, defineCommand } from "../../../core/services/command.ts";
import { output } from "../../lib/terminal/output.ts";
import { listOptions, type OptionRow } from "../option-list.ts";

interface PluginOptions {
  readonly plugin: string;
  /** Top-level config keys that stand for options of the plugin. */
  readonly keys: readonly string[];
  readonly options: readonly OptionRow[];
}

/** Lists options with type, default and description: those of the plugins in use, or of any one plugin. */
export const command = defineCommand({
  args: {
    plugin: { type: "positional", required: false, description: "The plugin; all in use by default" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given, context) {
    const { preset, plugins = [] } = await context.load(given);
    const used = [...preset.plugins, ...plugins].map(({ name, keys, options }) =>
      toEntry(name, keys, options),
    );
    const chosen = given.plugin === undefined ? used : [await findPlugin(given.plugin, used)];
    const shown = chosen.filter(({ options }) => options.length > 0 || given.plugin !== undefined);
    output(given.json, { plugins: shown }, () => `${shown.map(describe).join("\n\n")}\n`);
  },
});

function toEntry(plugin: string, keys: readonly string[] = [], schema?: v.GenericSchema): PluginOptions {
  return { plugin, keys, options: schema ? listOptions(schema) : [] };
}

async function findPlugin(name: string, used: readonly PluginOptions[]): Promise<PluginOptions> {
  const inUse = used.find(({ plugin }) => plugin === name);
  if (inUse) return inUse;
  const modules = await Promise.all((await listOwnPlugins()).map((load) => load()));
  const factories = modules.flatMap((module) => Object.values(module).filter(isPluginFactory));
  const found = factories.find(({ pluginName }) => pluginName === name);
  if (found) return toEntry(name, found.keys, found.options);
  const hint = nearest(name, [
    ...used.map(({ plugin }) => plugin),
    ...factories.map(({ pluginName }) => pluginName),
  ]);
  throw new GatewayError(
    "CONFIG_INVALID",
    `There is no plugin "${name}"${hint ? `; did you mean "${hint}"?` : '. "toolpipe config options" lists those in use.'}`,
  );
}

function describe({ plugin, keys, options }: PluginOptions): string {
  const top = keys.length === 0 ? "" : ` (at the top of a config: ${keys.join(", ")})`;
  const lines = options.map((option) => {
    const rest =
      option.default !== undefined ? ` = ${option.default}` : option.isRequired ? " (required)" : "";
    const description = option.description === undefined ? "" : `\n      ${option.description}`;
    return `  ${option.name}: ${option.type}${rest}${description}`;
  });
  return [`${plugin}${top}`, ...(lines.length > 0 ? lines : ["  No options."])].join("\n");
}
