import { createTimeoutError, isPending, withTimeout } from "./call-hooks.ts";
import { GatewayError } from "./errors.ts";
import type { PluginGateway } from "./gateway.ts";
import { type HookName, type Hooks, hookNames } from "./hooks.ts";
import { describeType } from "./json.ts";
import { nearest } from "./nearest.ts";
import type { Plugin } from "./plugin.ts";
import { toServiceName } from "./wiring.ts";

/** Options by plugin name. */
export type OptionsByPlugin = Readonly<Record<string, object | undefined>>;

/** The part of a plugin, or of its factory, that declares its options. */
export type Configurable = Pick<Plugin, "name" | "keys" | "takesString" | "configure">;

/** Replaces options of the plugins that `options` names. */
export function configureAll(plugins: readonly Plugin[], options: OptionsByPlugin): Plugin[] {
  checkOptionNames(plugins, options);
  return plugins.map((plugin) => {
    const overrides = options[plugin.name];
    return overrides ? (plugin.configure?.(overrides as never) ?? plugin) : plugin;
  });
}

/** Throws if options name an unknown plugin, or one that takes no options. */
export function checkOptionNames(plugins: readonly Configurable[], options: OptionsByPlugin): void {
  const names = plugins.map(({ name }) => name);
  for (const name of Object.keys(options)) {
    const plugin = plugins.find((candidate) => candidate.name === name);
    if (!plugin) {
      const hint = nearest(name, names);
      throw new GatewayError(
        "CONFIG_INVALID",
        `options.${name}: there is no plugin of this name${hint ? `; did you mean "${hint}"?` : "."}`,
      );
    }
    if (!plugin.configure)
      throw new GatewayError("CONFIG_INVALID", `options.${name}: this plugin takes no options.`);
  }
}

/** Adds top-level keys of a config to the options of the plugins that claim them. */
export function claimKeys(
  plugins: readonly Configurable[],
  extra: Readonly<Record<string, unknown>>,
  options: OptionsByPlugin,
): OptionsByPlugin {
  const claimed: Record<string, object | undefined> = { ...options };
  for (const [key, value] of Object.entries(extra)) {
    const [plugin, other] = plugins.filter(({ keys }) => keys?.includes(key));
    if (other) {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugins "${plugin?.name}" and "${other.name}" both claim the key "${key}".`,
      );
    }
    if (!plugin) {
      const known = plugins.flatMap(({ keys }) => keys ?? []);
      const isPlugin = plugins.some(({ name, configure }) => name === key && configure);
      const hint = isPlugin
        ? `options.${key}`
        : nearest(key, ["preset", "plugins", "options", "limits", ...known]);
      throw new GatewayError(
        "CONFIG_INVALID",
        `${key}: there is no such option${hint ? `; did you mean "${hint}"?` : ""}`,
        { data: { hint } },
      );
    }
    // A list is never all options of a plugin, but the option of the plugin's own name. So is a string, if the plugin
    // takes one.
    const isOne = Array.isArray(value) || (typeof value === "string" && plugin.takesString);
    const given = plugin.name === key && !isOne ? value : { [key]: value };
    if (typeof given !== "object" || given === null) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `${key}: expected an object of options, found ${describeType(value)}`,
      );
    }
    claimed[plugin.name] = { ...given, ...claimed[plugin.name] };
  }
  return claimed;
}

/** Sorts plugins in the order in which their hooks run: that of the list, within pre, normal and post. */
export function sortForHooks(plugins: readonly Plugin[]): Plugin[] {
  const rank = { pre: 0, normal: 1, post: 2 };
  for (const { name, order } of plugins) {
    if (order !== undefined && order !== "pre" && order !== "post") {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "${name}" has the order "${order}", which is neither "pre" nor "post".`,
      );
    }
  }
  return plugins.toSorted((a, b) => rank[a.order ?? "normal"] - rank[b.order ?? "normal"]);
}

/** Sorts plugins in the order of their set-up: that of the list, but providers before plugins that use them. */
export function sortForSetup(plugins: readonly Plugin[]): Plugin[] {
  const byName = new Map<string, Plugin>();
  for (const plugin of plugins) {
    if (byName.has(plugin.name)) {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "${plugin.name}" is listed twice. List it once, or change its options by name.`,
      );
    }
    byName.set(plugin.name, plugin);
  }
  const ordered = new Set<Plugin>();
  for (const plugin of plugins) visit(plugin, []);
  return [...ordered];

  function visit(plugin: Plugin, path: readonly string[]): void {
    if (ordered.has(plugin)) return;
    if (path.includes(plugin.name)) {
      const cycle = [...path.slice(path.indexOf(plugin.name)), plugin.name].join(" → ");
      throw new GatewayError("PLUGIN_INVALID", `These plugins use each other in a cycle: ${cycle}.`);
    }
    for (const before of required(plugin)) visit(before, [...path, plugin.name]);
    ordered.add(plugin);
  }

  function required(plugin: Plugin): Plugin[] {
    const used = (plugin.uses ?? []).map(toServiceName);
    // A plugin that replaces a service uses it too, so it comes after the provider that it replaces.
    return plugins.filter(
      (other) => other !== plugin && other.provides?.some((service) => used.includes(service)),
    );
  }
}

/** Sets up a plugin within the time limit. */
export async function setUpPlugin(
  plugin: Plugin,
  gateway: PluginGateway,
  ms: number,
): Promise<Partial<Hooks>> {
  try {
    const hooks = plugin.setup(gateway);
    return (
      (isPending(hooks)
        ? await withTimeout(ms, hooks, () => createTimeoutError(plugin.name, "setup", ms))
        : hooks) ?? {}
    );
  } catch (thrown) {
    if (GatewayError.is(thrown)) throw thrown;
    throw new GatewayError("PLUGIN_FAILED", `The plugin "${plugin.name}" could not be set up.`, {
      cause: thrown,
      data: { plugin: plugin.name },
    });
  }
}

/** Throws if a plugin has an unknown hook, or one that is not a function. */
export function checkHooks(plugin: string, own: Partial<Hooks>): void {
  for (const [name, hook] of Object.entries(own)) {
    if (!hookNames.includes(name as HookName)) {
      const hint = nearest(name, hookNames);
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "${plugin}" has a hook "${name}", which does not exist${hint ? `; did you mean "${hint}"?` : "."}`,
      );
    }
    if (typeof hook !== "function") {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The hook "${name}" of the plugin "${plugin}" is not a function.`,
      );
    }
  }
}

/** Creates the error of a list that has something else than a plugin. */
export function createPluginError(value: unknown): GatewayError {
  const [what, hint] =
    typeof value === "function" ? ["a function", " Was it meant to be called?"] : ["something", ""];
  return new GatewayError(
    "PLUGIN_INVALID",
    `The list of plugins holds ${what}, which is not a plugin.${hint}`,
  );
}
