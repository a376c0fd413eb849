import {
  createGateway,
  definePreset,
  type Gateway,
  type LoadedConfig,
  loadConfig,
  type Plugin,
} from "../../core/mod.ts";
import type { CommandTable, ConfigChoice, OpenOptions } from "../../core/services/command.ts";
import { presets } from "../../presets/mod.ts";
import { toolsOf } from "../lib/servers.ts";
import { usageError } from "../lib/terminal/output.ts";
import { serversOf, waitingLine } from "../lib/terminal/servers.ts";
import { otherFiles, selectConfig } from "./anygpt-config.ts";
import { writeNames } from "./names.ts";

/** Loads the config for serving: servers are asked for their tools in the background. */
export async function loadServeConfig(choice: ConfigChoice): Promise<LoadedConfig> {
  for (const name of ["config", "preset"] as const) {
    if (choice[name] === "") throw usageError(`The option --${name} needs a value.`);
  }
  const config = await loadConfig({
    presets,
    file: choice.config,
    look: choice.look ?? true,
    preset: choice.preset,
    otherFiles: otherFiles(process.cwd()),
    select: selectConfig,
  });
  // Without a config, a person means the servers they already have; with one, what it says.
  if (config.configFile !== undefined || !hasPlugin(config, "sources")) return config;
  return { ...config, options: { ...config.options, sources: { clients: "all" } } };
}

/** Loads the config for a command, which asks the servers it needs, when it needs them. */
export async function loadCliConfig(choice: ConfigChoice): Promise<LoadedConfig> {
  const config = await loadServeConfig(choice);
  if (!hasPlugin(config, "upstreams")) return config;
  const upstreams = { ...config.options?.["upstreams"], discover: "none" };
  return { ...config, options: { ...config.options, upstreams } };
}

/** Reports whether a config brings a plugin, by its preset or by itself. */
export function hasPlugin({ preset, plugins = [] }: LoadedConfig, name: string): boolean {
  return [...preset.plugins, ...plugins].some((plugin) => plugin.name === name);
}

/** Adds plugins to a config that does not bring them itself. */
export function addPlugins(config: LoadedConfig, extra: readonly Plugin[]): LoadedConfig {
  const missing = extra.filter(({ name }) => !hasPlugin(config, name));
  return { ...config, plugins: [...(config.plugins ?? []), ...missing] };
}

/** Built-in plugins that commands of other plugins need. */
const builtIns: Readonly<Record<string, () => Promise<Plugin>>> = {
  cache: async () => (await import("../cache/mod.ts")).cache(),
  registries: async () => (await import("../registries/mod.ts")).registries(),
  search: async () => (await import("../search/mod.ts")).search(),
  types: async () => (await import("../types/mod.ts")).types(),
};

function loadBuiltIns(plugins: readonly (Plugin | string)[]): Promise<Plugin[]> {
  return Promise.all(
    plugins.map((plugin) => {
      if (typeof plugin !== "string") return plugin;
      const load = builtIns[plugin];
      if (!load) throw new Error(`A command needs the plugin "${plugin}", which is not built in.`);
      return load();
    }),
  );
}

/** Adds the pages of a gateway that is served over HTTP: dashboard, metrics and probes. */
export async function withPages(config: LoadedConfig): Promise<LoadedConfig> {
  const [{ dashboard }, { health }, { metrics }] = await Promise.all([
    import("../dashboard/mod.ts"),
    import("../health.ts"),
    import("../metrics/mod.ts"),
  ]);
  return addPlugins(config, [dashboard(), health(), metrics()]);
}

/** Reads the commands that the plugins of the chosen config bring. */
export async function readPluginCommands(choice: ConfigChoice): Promise<CommandTable> {
  const config = await loadCliConfig(choice);
  const tables = [...config.preset.plugins, ...(config.plugins ?? [])].map(({ commands }) => commands ?? {});
  return Object.assign({}, ...tables);
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

/**
 * Opens the gateway of the chosen config for a command, and closes it whatever happens. The names it came to know are
 * kept for the shell to complete.
 */
export async function openGateway<T>(
  choice: ConfigChoice,
  use: (gateway: Gateway, config: LoadedConfig) => Promise<T>,
  { with: extra = [], only = false, adjust = (config) => config }: OpenOptions = {},
): Promise<T> {
  if (only) {
    const config = { preset: definePreset({ name: "none", plugins: await loadBuiltIns(extra) }) };
    return withGateway(config, (gateway) => use(gateway, config));
  }
  // A config may be a program, and plugins may take their time.
  const done = waitingLine("Reading the config …");
  try {
    const config = adjust(addPlugins(await loadCliConfig(choice), await loadBuiltIns(extra)));
    return await withGateway(config, async (gateway) => {
      done();
      try {
        return await use(gateway, config);
      } finally {
        await rememberNames(gateway);
      }
    });
  } finally {
    done();
  }
}

async function rememberNames(gateway: Gateway): Promise<void> {
  // A person who keeps no cache wants no names kept either.
  if (!gateway.services.cache) return;
  const names = serversOf(gateway).map(({ name }): [string, string[]] => [
    name,
    toolsOf(gateway, name).flatMap((tool) => (tool.enabled ? [tool.name] : [])),
  ]);
  await writeNames(gateway.configFile ?? process.cwd(), Object.fromEntries(names));
}
