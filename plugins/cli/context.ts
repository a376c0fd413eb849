import {
  createGateway,
  definePreset,
  errorKinds,
  type Gateway,
  GatewayError,
  type LoadedConfig,
  loadConfig,
  type Plugin,
} from "../../core/mod.ts";
import type { CommandTable, ConfigChoice, OpenOptions } from "../../core/services/command.ts";
import { presets } from "../../presets/mod.ts";
import { listServerRows, listServerTools, showWaiting } from "../lib/servers.ts";
import { toTerminalLine, usageError } from "../lib/terminal/output.ts";
import { writeNames } from "./completion-names.ts";
import { otherFiles, selectConfig } from "./config-files.ts";

/** Default port of `serve --http` and `start`. */
export const PORT = 7007;

/** Parses the port that an option names. */
export function parsePort(value: string, option: string): number {
  const port = Number(value);
  if (value.trim() !== "" && Number.isInteger(port) && port >= 0 && port <= 65_535) return port;
  throw usageError(`The option ${option} needs a port from 0 to 65535, not "${value}".`);
}

/** Checks if a server could not be opened because its port is in use. */
export function isPortTaken(thrown: unknown): boolean {
  return (thrown as { cause?: { code?: unknown } } | null)?.cause?.code === "EADDRINUSE";
}

/**
 * Loads the config for serving: servers are asked for their tools in the background. `asks` says whether a user at a
 * terminal is asked to approve the config of the folder.
 */
export async function loadServeConfig(choice: ConfigChoice, asks = true): Promise<LoadedConfig> {
  for (const name of ["config", "preset"] as const) {
    if (choice[name] === "") throw usageError(`The option --${name} needs a value.`);
  }
  // Loaded only for a config that is not named: most clients start toolpipe with one that is.
  if (choice.config === undefined && choice.look !== false && !choice.isTrusted)
    await (await import("./config-approval.ts")).requireApprovedConfigs(process.cwd(), asks);
  const config = await loadConfig({
    presets,
    file: choice.config,
    look: choice.look ?? true,
    preset: choice.preset,
    otherFiles: otherFiles(process.cwd()),
    select: selectConfig,
  });
  // At debug level, calls and reports are printed with causes and stacks.
  const reporting =
    choice.trace || process.env["LOG_LEVEL"] === "debug"
      ? addPlugins(config, [(await import("../trace.ts")).trace()])
      : { ...config, onReport: printReport(failureCodes) };
  // Without a config, the servers of the clients are used.
  if (config.configFile !== undefined || !hasPlugin(config, "sources")) return reporting;
  return { ...reporting, options: { ...config.options, sources: { clients: "all" } } };
}

/**
 * Reports about plugins: of a part that can never run, of a hook that was left behind, and of one that threw; and about
 * state that is gone, or cannot be relied on.
 */
const pluginCodes: readonly string[] = [
  errorKinds.PLUGIN_INVALID.code,
  errorKinds.TIMEOUT.code,
  errorKinds.INTERNAL.code,
  "STATE_DAMAGED",
  "STATE_LOST",
  "STATE_UNAVAILABLE",
  "STATE_VOLATILE",
];

/** Warnings of a gateway that serves: commands show the state of servers and rules themselves. */
const failureCodes: readonly string[] = [...pluginCodes, "RULE_DOUBTFUL"];

/** Prints reports of these codes, and with them each failure to connect to a server. */
function printReport(codes: readonly string[]): (error: GatewayError) => void {
  return ({ code, message, data, cause }) => {
    const isFailure = codes === failureCodes && data["event"] === "connection-failed";
    if (!isFailure && !codes.includes(code)) return;
    const says =
      code === errorKinds.INTERNAL.code && cause instanceof Error ? ` It says: ${cause.message}` : "";
    process.stderr.write(`toolpipe: ${toTerminalLine(`${message}${says}`)}\n`);
  };
}

/** Servers that a command asks at once: it has nothing else to do, and its user waits. */
const MOST_ASKED = 32;

/** Loads the config for a command, which asks the servers it needs, when it needs them. */
export async function loadCliConfig(choice: ConfigChoice): Promise<LoadedConfig> {
  const loaded = await loadServeConfig(choice);
  const config = loaded.onReport ? { ...loaded, onReport: printReport(pluginCodes) } : loaded;
  if (!hasPlugin(config, "upstreams")) return config;
  const maxParallelDiscoveries = MOST_ASKED;
  return {
    ...config,
    options: {
      ...config.options,
      upstreams: { maxParallelDiscoveries, ...config.settings?.["upstreams"], discover: "none" },
    },
  };
}

/** Checks if a config has a plugin, by its preset or by itself. */
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
  const pages = await Promise.all([
    import("../dashboard/mod.ts").then(({ dashboard }) => dashboard()),
    import("../health.ts").then(({ health }) => health()),
    import("../metrics/mod.ts").then(({ metrics }) => metrics()),
  ]);
  return addPlugins(config, pages);
}

/** Reads the commands that the plugins of the chosen config bring. */
export async function readPluginCommands(choice: ConfigChoice): Promise<CommandTable> {
  const { preset, plugins = [] } = await loadCliConfig(choice);
  const owners = new Map<string, string>();
  const table: Record<string, CommandTable[string]> = {};
  for (const { name: plugin, commands = {} } of [...preset.plugins, ...plugins]) {
    for (const [name, entry] of Object.entries(commands)) {
      const other = owners.get(name);
      if (other !== undefined) {
        throw new GatewayError(
          "PLUGIN_INVALID",
          `The plugins "${other}" and "${plugin}" both bring the command "${name}". Leave one of them out.`,
        );
      }
      owners.set(name, plugin);
      table[name] = entry;
    }
  }
  return table;
}

/** Opens the gateway of a config for `use`, and closes it also after a failure. */
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
 * Opens the gateway of the chosen config for a command, and closes it also after a failure. Stores the names of servers
 * and tools for shell completion.
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
  // A config may be a program, and plugins may be slow to set up.
  const done = showWaiting("Reading the config …");
  try {
    const config = adjust(addPlugins(await loadCliConfig(choice), await loadBuiltIns(extra)));
    return await withGateway(config, async (gateway) => {
      done();
      try {
        return await use(gateway, config);
      } finally {
        await storeNames(gateway);
      }
    });
  } finally {
    done();
  }
}

async function storeNames(gateway: Gateway): Promise<void> {
  // Without a cache, names are not stored either.
  if (!gateway.services.cache) return;
  const names = listServerRows(gateway).map(({ name }): [string, string[]] => [
    name,
    listServerTools(gateway, name).flatMap((tool) => (tool.enabled ? [tool.name] : [])),
  ]);
  await writeNames(gateway.configFile ?? process.cwd(), Object.fromEntries(names));
}
