import { GatewayError } from "./errors.ts";
import { nearest } from "./nearest.ts";
import type { Plugin } from "./plugin.ts";
import type { DriverKind, Drivers, ServiceName, Services } from "./services/mod.ts";

/** The part of a gateway that connects one plugin to the others. */
export interface PluginWiring {
  readonly services: Readonly<Partial<Services>>;
  provide<K extends ServiceName>(
    name: K,
    service: Services[K],
    options?: { readonly replace?: boolean },
  ): void;
  register<K extends DriverKind>(kind: K, name: string, driver: Drivers[K]): void;
}

/** Services by name, and drivers by kind and name. */
export interface Wiring {
  readonly services: Partial<Services>;
  drivers<K extends DriverKind>(kind: K): ReadonlyMap<string, Drivers[K]>;
  driver<K extends DriverKind>(kind: K, name: string, base?: string): Promise<Drivers[K]>;
  /** Throws if a plugin needs a service that no plugin declares. To be called before any set-up. */
  checkAll(): Promise<void>;
  /** Throws if a service that the plugin needs was not provided. To be called after the set-up of its providers. */
  check(plugin: Plugin): void;
  /** Returns a warning for each driver that no plugin reads. To be called once all plugins are set up. */
  listUnread(): string[];
  forPlugin(plugin: Plugin): PluginWiring;
}

/** Kinds of drivers that one service reads: without it, they never run. */
const READERS: Readonly<Partial<Record<DriverKind, ServiceName>>> = {
  source: "sources",
  upstream: "servers",
  ranker: "search",
  embedder: "search",
};

/** Connects plugins. The path of a driver is relative to `base`, the config file. */
export function createWiring(plugins: readonly Plugin[], base: string): Wiring {
  const services: Record<string, unknown> = {};
  const providers = new Map<string, string>();
  const kinds = new Map<string, Map<string, unknown>>();
  /** The plugins of the drivers, by kind and name. */
  const registrants = new Map<string, string>();
  const named = new Set(
    plugins.flatMap(({ uses = [], provides = [] }) => [...uses.map(toServiceName), ...provides]),
  );

  for (const { name: plugin, drivers: table = {} } of plugins)
    for (const [kind, named] of Object.entries(table))
      for (const [name, driver] of Object.entries(named)) register(plugin, kind as DriverKind, name, driver);

  return { services: services as Partial<Services>, drivers, driver, checkAll, check, listUnread, forPlugin };

  function drivers<K extends DriverKind>(kind: K): ReadonlyMap<string, Drivers[K]> {
    let known = kinds.get(kind);
    if (!known) {
      known = new Map();
      kinds.set(kind, known);
    }
    return known as Map<string, Drivers[K]>;
  }

  async function driver<K extends DriverKind>(kind: K, name: string, from = base): Promise<Drivers[K]> {
    const known = drivers(kind);
    if (known.has(name)) return known.get(name) as Drivers[K];
    if (!/[./]/.test(name)) throw createMissingDriver(kind, name, [...known.keys()]);
    const { loadDriver } = await import("./load-module.ts");
    return (await loadDriver(kind, name, from)) as Drivers[K];
  }

  async function checkAll(): Promise<void> {
    const provided = new Set(plugins.flatMap(({ provides = [] }) => provides));
    for (const { name, uses = [] } of plugins) {
      const missing = uses.find((use) => !use.endsWith("?") && !provided.has(use));
      if (missing === undefined) continue;
      const { findProvider } = await import("./load-module.ts");
      const found = await findProvider(missing);
      const hint = found ? undefined : nearest(missing, provided);
      throw createPluginFault(
        `The plugin "${name}" needs the service "${missing}", which no plugin provides. Add ${found ? `the plugin "${found}"` : "a plugin that does"} to "plugins"${hint ? `, or did you mean "${hint}"?` : "."}`,
      );
    }
  }

  function check({ name, uses = [] }: Plugin): void {
    const missing = uses.find((use) => !use.endsWith("?") && services[use] === undefined);
    if (missing === undefined) return;
    const idle = plugins.find(({ provides }) => provides?.includes(missing));
    throw createPluginFault(
      `The plugin "${name}" needs the service "${missing}", which the plugin "${idle?.name}" does not provide with its options.`,
    );
  }

  function listUnread(): string[] {
    return [...registrants].flatMap(([driver, plugin]) => {
      const [kind = "", name] = driver.split(" ");
      const reader = READERS[kind as DriverKind];
      if (reader === undefined || services[reader] !== undefined) return [];
      return [
        `The plugin "${plugin}" registers the ${kind} "${name}", which never runs: no plugin provides the service "${reader}". Add one that does to "plugins", or leave "${plugin}" out.`,
      ];
    });
  }

  function forPlugin(plugin: Plugin): PluginWiring {
    return {
      services: createServiceView(plugin),
      provide(name, service, { replace = false } = {}) {
        if (!plugin.provides?.includes(name)) {
          throw createPluginFault(
            `The plugin "${plugin.name}" provides the service "${name}", which its "provides" lacks.`,
          );
        }
        const other = providers.get(name);
        if (other !== undefined && !replace) {
          throw createPluginFault(
            `The plugins "${other}" and "${plugin.name}" both provide the service "${name}". Leave one of them out.`,
          );
        }
        providers.set(name, plugin.name);
        services[name] = service;
      },
      register: (kind, name, driver) => register(plugin.name, kind, name, driver),
    };
  }

  function register(plugin: string, kind: DriverKind, name: string, driver: unknown): void {
    const other = registrants.get(`${kind} ${name}`);
    if (other === plugin)
      throw createPluginFault(`The plugin "${other}" registers the ${kind} "${name}" twice.`);
    if (other !== undefined) {
      throw createPluginFault(
        `The plugins "${other}" and "${plugin}" both register the ${kind} "${name}". Rename one of them.`,
      );
    }
    registrants.set(`${kind} ${name}`, plugin);
    (drivers(kind) as Map<string, unknown>).set(name, driver);
  }

  /** Creates a view of the services that a plugin declares; any other one throws. */
  function createServiceView({ name, uses, provides = [] }: Plugin): Partial<Services> {
    if (!uses) return services as Partial<Services>;
    const own = new Set([...uses.map(toServiceName), ...provides]);
    const view = {};
    for (const service of named) {
      const get = own.has(service)
        ? () => services[service]
        : () => {
            throw createPluginFault(
              `The plugin "${name}" uses the service "${service}", which its "uses" lacks.`,
            );
          };
      Object.defineProperty(view, service, { get, enumerable: own.has(service) });
    }
    return view;
  }
}

/** Returns the service that an entry of `uses` names. */
export function toServiceName(use: string): string {
  return use.endsWith("?") ? use.slice(0, -1) : use;
}

function createMissingDriver(kind: string, name: string, known: readonly string[]): GatewayError {
  const hint = nearest(name, known);
  const choice =
    known.length === 0 ? "There is none" : `There are ${known.map((one) => `"${one}"`).join(", ")}`;
  return new GatewayError(
    "CONFIG_INVALID",
    `There is no ${kind} "${name}"${hint ? `; did you mean "${hint}"?` : "."} ${choice}; a path such as "./${kind}.ts" names one of your own.`,
  );
}

function createPluginFault(message: string): GatewayError {
  return new GatewayError("PLUGIN_INVALID", message);
}
