import { createGateway, type Gateway, type LoadedConfig, loadConfig, type Plugin } from "../../core/mod.ts";
import { presets } from "../../presets/mod.ts";
import { otherFiles, selectConfig } from "./_anygpt-config.ts";
import { usageError } from "./_usage.ts";

/** The options of every command that reads a config. */
export const configArgs = {
  config: { type: "string", description: "The config file to use", valueHint: "FILE" },
  preset: {
    type: "string",
    description: "The preset to use: anygpt, gateway, passthrough, or a path",
    valueHint: "NAME",
  },
} as const;

/** What tells a command which config to use. */
export interface ConfigArgs {
  readonly config?: string | undefined;
  readonly preset?: string | undefined;
  /** Whether a config may be looked for; true by default. */
  readonly look?: boolean;
}

/** Loads the config for serving: servers are asked for their tools in the background. */
export async function loadServeConfig(args: ConfigArgs): Promise<LoadedConfig> {
  for (const name of ["config", "preset"] as const) {
    if (args[name] === "") throw usageError(`The option --${name} needs a value.`);
  }
  const config = await loadConfig({
    presets,
    file: args.config,
    look: args.look ?? true,
    preset: args.preset,
    otherFiles: otherFiles(process.cwd()),
    select: selectConfig,
  });
  // Without a config, a person means the servers they already have; with one, what it says.
  if (config.configFile !== undefined || !hasPlugin(config, "sources")) return config;
  return { ...config, options: { ...config.options, sources: { clients: "all" } } };
}

/** Loads the config for a command, which asks the servers it needs, when it needs them. */
export async function loadCliConfig(args: ConfigArgs): Promise<LoadedConfig> {
  const config = await loadServeConfig(args);
  if (!hasPlugin(config, "upstreams")) return config;
  const upstreams = { ...config.options?.["upstreams"], discover: "none" };
  return { ...config, options: { ...config.options, upstreams } };
}

/** Whether a config brings a plugin, by its preset or by itself. */
export function hasPlugin({ preset, plugins = [] }: LoadedConfig, name: string): boolean {
  return [...preset.plugins, ...plugins].some((plugin) => plugin.name === name);
}

/** Opens the gateway of a config, hands it over, and closes it whatever happens. */
export async function withGateway<T>(
  config: LoadedConfig,
  use: (gateway: Gateway) => Promise<T>,
  extra: readonly Plugin[] = [],
): Promise<T> {
  const gateway = await createGateway({ ...config, plugins: [...(config.plugins ?? []), ...extra] });
  try {
    return await use(gateway);
  } finally {
    await gateway.close();
  }
}
