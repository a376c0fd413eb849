import { resolve } from "node:path";
import { createHooks } from "hookable";
import { configureAll, inHookOrder, inSetupOrder, type OptionsByPlugin } from "./assemble.ts";
import type { Call, CallRequest, SettledCall } from "./call.ts";
import { type Catalog, type CatalogEvents, createCatalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import {
  HOOK_MS,
  type HookLimits,
  type HookName,
  type Hooks,
  hookNames,
  inOrder,
  isolated,
  isPending,
  LONGEST_TIMER_MS,
  late,
  owned,
  within,
} from "./hooks.ts";
import { localTools } from "./local-tools.ts";
import { nearest } from "./nearest.ts";
import { createPipeline } from "./pipeline.ts";
import { isPlugin, type Plugin } from "./plugin.ts";
import type { Preset } from "./preset.ts";
import type { DriverKind, Drivers, ServiceName, Services, Use, UsedServices } from "./services/mod.ts";
import type { Tool } from "./tool.ts";
import { createWiring } from "./wiring.ts";

/** The pipeline with its catalog and plugins. */
export interface Gateway {
  readonly catalog: Catalog;
  /** The plugins, in the order in which their hooks run. */
  readonly plugins: readonly string[];
  /** The tools an agent sees: those of the preset or, where it has none, all of the catalog. */
  readonly tools: readonly Tool[];
  /** The services that plugins provide, by name. */
  readonly services: Readonly<Partial<Services>>;
  /** The drivers of a kind by name. The map is alive: it has what plugins register later, too. */
  drivers<K extends DriverKind>(kind: K): ReadonlyMap<string, Drivers[K]>;
  /**
   * The driver of this name or, where the name is a path, the one that this module exports. A path is relative to
   * `base`, by default the config file.
   */
  driver<K extends DriverKind>(kind: K, name: string, base?: string): Promise<Drivers[K]>;
  /** The config file it was made from, if there was one. */
  readonly configFile: string | undefined;
  /** Runs one call through the five stages. Never rejects: the settled call says how it went. */
  run(request: CallRequest): Promise<SettledCall>;
  /** Tells the `error` hooks of a failure outside any call. */
  report(error: GatewayError): void;
  /** Lets the calls on their way finish for up to `drainMs`, cancels the rest, and closes the plugins, the last one first. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** A gateway as a plugin sees it, with exactly the services that it declares. */
export interface PluginGateway<U extends Use = `${ServiceName}?`> extends Omit<Gateway, "services"> {
  readonly services: UsedServices<U>;
  /** Provides a service that `provides` names. Where there is one already, that throws unless `replace` says it is meant. */
  provide<K extends ServiceName>(
    name: K,
    service: NonNullable<Services[K]>,
    options?: { readonly replace?: boolean },
  ): void;
  /** Registers a driver, in `setup`. Those that use drivers look for them in `ready` at the earliest. */
  register<K extends DriverKind>(kind: K, name: string, driver: Drivers[K]): void;
  /**
   * The gateway that this one takes over from on a reload: connections and kept results can move. Set until `ready` is
   * over.
   */
  readonly previous?: Gateway | undefined;
}

/** Options of {@link createGateway}. */
export interface GatewayOptions {
  readonly preset?: Preset;
  /** Appended to the preset's. */
  readonly plugins?: readonly Plugin[];
  /** Options that replace those of plugins, by plugin name. */
  readonly options?: OptionsByPlugin;
  /** How long hooks may take. */
  readonly limits?: HookLimits;
  /** The config file all this came from. */
  readonly configFile?: string | undefined;
  /** The gateway that this one takes over from. */
  readonly previous?: Gateway | undefined;
}

/**
 * Sets up the plugins and returns the gateway. If one of them fails, those already set up are closed.
 *
 * @example
 * ```ts
 * import { createGateway } from "toolpipe";
 * import { anygpt } from "toolpipe/presets/anygpt";
 *
 * const gateway = await createGateway({ preset: anygpt });
 * const call = await gateway.run({ tool: "anygpt:search_tools", args: { query: "read a file" } });
 * console.log(call.ok ? call.result : call.error.message);
 * await gateway.close();
 * ```
 */
export async function createGateway(options: GatewayOptions = {}): Promise<Gateway> {
  const { preset, limits = {}, configFile } = options;
  let { previous } = options;
  const { hookMs = HOOK_MS } = limits;
  const given = [...(preset?.plugins ?? []), ...(options.plugins ?? [])];
  for (const plugin of given) if (!isPlugin(plugin)) throw notAPlugin(plugin);
  const configured = configureAll(given, options.options ?? {});
  const metaTools = preset?.tools ?? [];
  const hasMetaTools = metaTools.length > 0 || typeof metaTools === "function";
  const metaServer = { id: preset?.name ?? "", builtin: true };
  if (hasMetaTools) configured.push(localTools("meta-tools", metaServer, metaTools));
  const setupOrder = inSetupOrder(configured);
  const hookOrder = inHookOrder(configured);

  const hooks = createHooks<Hooks>();
  const report = (error: GatewayError): void => {
    // A failing listener cannot be reported to itself.
    hooks.callHookWith(
      isolated(() => {}),
      "error",
      [error],
    );
  };
  const inTurn: typeof inOrder = (own, args, name) => inOrder(own, args, name, hookMs);
  const apart = isolated(report, hookMs);
  const events: CatalogEvents = {
    discover: (tool) => hooks.callHookWith(inTurn, "tool:discover", [tool]),
    changed: (revision) => hooks.callHookWith(apart, "catalog:change", [revision]),
  };
  const catalog = createCatalog(events, hasMetaTools ? [metaServer.id] : []);
  const pipeline = createPipeline(hooks, catalog, report, limits, (call, index) => {
    if (index < executing.length - 1) warnOfSkipped(call, index);
  });
  const wiring = createWiring(configured, configFile ?? resolve("toolpipe.config"));
  const hooksOf = new Map<Plugin, Partial<Hooks>>();
  /** The plugins with an `execute` hook, in order. */
  let executing: readonly Plugin[] = [];
  /** Those whose answers have been checked for plugins that they skip. */
  const checked = new Set<Plugin>();
  /** Those during whose `ready` hook tools came into the catalog. */
  const suppliers = new Set<Plugin>();
  let isOpen = false;
  let closing: Promise<void> | undefined;

  const gateway: Gateway = {
    catalog,
    plugins: hookOrder.map((plugin) => plugin.name),
    services: wiring.services,
    drivers: wiring.drivers,
    driver: wiring.driver,
    configFile,
    get tools() {
      return hasMetaTools ? catalog.tools(metaServer.id) : catalog.tools();
    },
    run: (request) => {
      // A call that is still let finish may make the calls it needs for that.
      if (!closing || (request.parent && pipeline.active.has(request.parent))) return pipeline.run(request);
      const error = new GatewayError("CLOSED", "The gateway is closing and takes no more calls.");
      return pipeline.run({ ...request, signal: AbortSignal.abort(error) });
    },
    report,
    close: ({ drainMs = 30_000 } = {}) => {
      // While it is still being set up, that is told to stop, and closes what it has opened.
      closing ??= isOpen ? shutDown(drainMs) : Promise.resolve();
      return closing;
    },
  };

  async function shutDown(drainMs: number): Promise<void> {
    const cancelRest = (): void => {
      for (const call of pipeline.active) {
        call.cancel(new GatewayError("CLOSED", "The gateway closed before the call was done."));
      }
    };
    const timer = drainMs <= LONGEST_TIMER_MS ? setTimeout(cancelRest, drainMs) : undefined;
    // Cancelled calls settle, and are audited, before the plugins that record them go.
    await pipeline.idle();
    clearTimeout(timer);
    await closePlugins();
  }

  async function closePlugins(): Promise<void> {
    for (const plugin of [...hooksOf.keys()].reverse()) {
      const { close } = hooksOf.get(plugin) ?? {};
      if (close) await apart([close as () => void], [], "close");
    }
  }

  const goOn = (): void => {
    if (closing) throw new GatewayError("CLOSED", "The gateway was closed while it was set up.");
  };
  try {
    await wiring.checkAll();
    for (const plugin of setupOrder) {
      wiring.check(plugin);
      const own = await setUp(plugin, gatewayFor(plugin), hookMs);
      hooksOf.set(plugin, own);
      checkHooks(plugin.name, own);
      goOn();
    }
    for (const plugin of hookOrder) register(plugin);
    executing = hookOrder.filter((plugin) => hooksOf.get(plugin)?.execute);
    for (const plugin of hookOrder) {
      const { ready } = hooksOf.get(plugin) ?? {};
      const { revision } = catalog;
      if (ready) await inTurn([ready as () => void], [], "ready");
      if (catalog.revision > revision) suppliers.add(plugin);
      goOn();
    }
    previous = undefined;
    isOpen = true;
    for (const message of wiring.listUnread()) report(new GatewayError("PLUGIN_INVALID", message));
  } catch (thrown) {
    await closePlugins();
    throw thrown;
  }
  return gateway;

  /** Warns once of `execute` hooks that never run for a server's tools, since a plugin before them answers. */
  function warnOfSkipped({ tool, via, result, toolId }: Call, index: number): void {
    const plugin = executing[index];
    // A cache, say, answers in place of the tool and sets `via`. Tools of the gateway itself need no wrappers.
    if (!plugin || checked.has(plugin) || !result || via !== undefined || tool?.builtin !== false) return;
    checked.add(plugin);
    const wrappers = executing.slice(index + 1).filter((other) => !isSupplier(other));
    const quote = (some: readonly Plugin[]): string => some.map(({ name }) => `"${name}"`).join(", ");
    const before = wrappers.filter(({ order }) => order !== "post");
    const post = wrappers.filter(({ order }) => order === "post");
    const answers = `The plugin "${plugin.name}" answers "${toolId}" before`;
    if (before.length > 0)
      warn(
        `${answers} ${quote(before)}: their "execute" hooks never run for such tools. List "${plugin.name}" behind them, or give it the order "post".`,
      );
    if (post.length > 0)
      warn(
        `${answers} ${quote(post)}: their "execute" hooks never run for such tools. Leave out their order "post".`,
      );

    function warn(message: string): void {
      report(new GatewayError("PLUGIN_INVALID", message, { data: { plugin: plugin?.name } }));
    }
  }

  /** Whether a plugin answers tools of its own, so that it need not run for those of others. */
  function isSupplier(plugin: Plugin): boolean {
    return plugin.order === "post" && ((plugin.provides ?? []).length > 0 || suppliers.has(plugin));
  }

  /** Inherits all that does not differ from one plugin to the next. */
  function gatewayFor(plugin: Plugin): PluginGateway {
    const own: PluginGateway = Object.assign(Object.create(gateway), wiring.forPlugin(plugin));
    // A getter: the gateways before must not be kept in memory by each one that takes over.
    return Object.defineProperty(own, "previous", { get: () => previous });
  }

  function register(plugin: Plugin): void {
    const own: Record<string, unknown> = {};
    for (const [name, hook] of Object.entries(hooksOf.get(plugin) ?? {})) {
      own[name] = owned(hook, plugin.name);
      hooks.hook(name as HookName, own[name] as never);
    }
    hooksOf.set(plugin, own);
  }
}

async function setUp(plugin: Plugin, gateway: PluginGateway, ms: number): Promise<Partial<Hooks>> {
  try {
    const hooks = plugin.setup(gateway);
    return (isPending(hooks) ? await within(ms, hooks, () => late(plugin.name, "setup", ms)) : hooks) ?? {};
  } catch (thrown) {
    if (GatewayError.is(thrown)) throw thrown;
    throw new GatewayError("PLUGIN_FAILED", `The plugin "${plugin.name}" could not be set up.`, {
      cause: thrown,
      data: { plugin: plugin.name },
    });
  }
}

function checkHooks(plugin: string, own: Partial<Hooks>): void {
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

function notAPlugin(value: unknown): GatewayError {
  const [what, hint] =
    typeof value === "function" ? ["a function", " Was it meant to be called?"] : ["something", ""];
  return new GatewayError(
    "PLUGIN_INVALID",
    `The list of plugins holds ${what}, which is not a plugin.${hint}`,
  );
}
