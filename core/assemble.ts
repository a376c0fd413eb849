import { GatewayError } from "./errors.ts";
import { kindOf } from "./json.ts";
import { nearest } from "./nearest.ts";
import type { Plugin } from "./plugin.ts";
import { toServiceName } from "./wiring.ts";

/** Options by plugin name. */
export type OptionsByPlugin = Readonly<Record<string, object | undefined>>;

/** Replaces options of the plugins that `options` names. */
export function configureAll(plugins: readonly Plugin[], options: OptionsByPlugin): Plugin[] {
  for (const name of Object.keys(options)) {
    const plugin = plugins.find((candidate) => candidate.name === name);
    if (!plugin) {
      const hint = nearest(
        name,
        plugins.map((candidate) => candidate.name),
      );
      throw new GatewayError(
        "CONFIG_INVALID",
        `options.${name}: there is no plugin of this name${hint ? `; did you mean "${hint}"?` : "."}`,
      );
    }
    if (!plugin.configure)
      throw new GatewayError("CONFIG_INVALID", `options.${name}: this plugin takes no options.`);
  }
  return plugins.map((plugin) => {
    const overrides = options[plugin.name];
    return overrides ? (plugin.configure?.(overrides as never) ?? plugin) : plugin;
  });
}

/** Adds what stands at the top of a config to the options of the plugins that claim those keys. */
export function claimKeys(
  plugins: readonly Plugin[],
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
      const hint = nearest(key, ["preset", "plugins", "options", "limits", ...known]);
      throw new GatewayError(
        "CONFIG_INVALID",
        `${key}: there is no such option${hint ? `; did you mean "${hint}"?` : ""}`,
      );
    }
    // A list cannot be all the options of a plugin: it is the one option that has the plugin's name. So is a text,
    // where the plugin takes one.
    const isOne = Array.isArray(value) || (typeof value === "string" && plugin.takesText);
    const given = plugin.name === key && !isOne ? value : { [key]: value };
    if (typeof given !== "object" || given === null) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `${key}: expected an object of options, found ${kindOf(value)}`,
      );
    }
    claimed[plugin.name] = { ...given, ...claimed[plugin.name] };
  }
  return claimed;
}

/** Puts plugins in the order in which their hooks run: that of the list, within pre, normal and post. */
export function inHookOrder(plugins: readonly Plugin[]): Plugin[] {
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

/** Puts plugins in the order in which they are set up: that of the list, but providers before those that use them. */
export function inSetupOrder(plugins: readonly Plugin[]): Plugin[] {
  const byName = new Map<string, Plugin>();
  for (const plugin of plugins) {
    if (byName.has(plugin.name)) {
      throw new GatewayError(
        "PLUGIN_INVALID",
        `The plugin "${plugin.name}" is there twice. Name it once, or change its options by name.`,
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
      throw new GatewayError("PLUGIN_INVALID", `These plugins use each other in a circle: ${cycle}.`);
    }
    for (const before of required(plugin)) visit(before, [...path, plugin.name]);
    ordered.add(plugin);
  }

  function required(plugin: Plugin): Plugin[] {
    const used = (plugin.uses ?? []).map(toServiceName);
    // One that replaces a service uses it too: it comes behind the provider that it replaces.
    return plugins.filter(
      (other) => other !== plugin && other.provides?.some((service) => used.includes(service)),
    );
  }
}
