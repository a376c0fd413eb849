import { resolve } from "node:path";
import { createHooks } from "hookable";
import {
  checkHooks,
  configureAll,
  createPluginError,
  type OptionsByPlugin,
  setUpPlugin,
  sortForHooks,
  sortForSetup,
} from "./assemble.ts";
import type { Call, CallRequest, SettledCall } from "./call.ts";
import { callInOrder, createIsolatedCaller, setHookOwner } from "./call-hooks.ts";
import { type Catalog, type CatalogEvents, createCatalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import { HOOK_MS, type HookLimits, type HookName, type Hooks, LONGEST_TIMER_MS } from "./hooks.ts";
import { localTools } from "./local-tools.ts";
import { createPipeline } from "./pipeline.ts";
import { isPlugin, type Plugin } from "./plugin.ts";
import type { Preset } from "./preset.ts";
import type { DriverKind, Drivers, ServiceName, Services, Use, UsedServices } from "./services/mod.ts";
import type { Tool } from "./tool.ts";
import { createWiring } from "./wiring.ts";

/** Options of {@link Gateway.close}. */
export interface CloseOptions {
  /** Time for running calls to end by themselves; 30 s by default. */
  readonly drainMs?: number | undefined;
  /** Whether calls that no server has been sent yet are cancelled at once, such as those that wait for it to start. */
  readonly cancelUnsent?: boolean | undefined;
}

/** The pipeline with its catalog and plugins. */
export interface Gateway {
  readonly catalog: Catalog;
  /** The plugins, in the order in which their hooks run. */
  readonly plugins: readonly string[];
  /** The tools an agent sees: those of the preset or, where it has none, all of the catalog. */
  readonly tools: readonly Tool[];
  /** The services that plugins provide, by name. */
  readonly services: Readonly<Partial<Services>>;
  /** Returns the drivers of a kind by name. The map is live: it has drivers that are registered later, too. */
  drivers<K extends DriverKind>(kind: K): ReadonlyMap<string, Drivers[K]>;
  /**
   * Returns the driver of a name; for a path, the driver that the module exports. A path is relative to `base`, by
   * default the config file.
   */
  driver<K extends DriverKind>(kind: K, name: string, base?: string): Promise<Drivers[K]>;
  /** The config file, if there is one. */
  readonly configFile: string | undefined;
  /** Section of the config file that the options are from, such as `discovery`; undefined for the whole file. */
  readonly configSection: string | undefined;
  /** Runs one call through the five stages. Never rejects: failures are in the settled call. */
  run(request: CallRequest): Promise<SettledCall>;
  /** Reports a failure outside any call to the `error` hooks. */
  report(error: GatewayError): void;
  /** Waits up to `drainMs` for running calls, cancels the rest, and closes the plugins, the last one first. */
  close(options?: CloseOptions): Promise<void>;
}

/** The gateway of one plugin, with exactly the services that it declares. */
export interface PluginGateway<U extends Use = `${ServiceName}?`> extends Omit<Gateway, "services"> {
  readonly services: UsedServices<U>;
  /** Provides a service that `provides` names. Throws if there is one already, unless `replace` is set. */
  provide<K extends ServiceName>(
    name: K,
    service: NonNullable<Services[K]>,
    options?: { readonly replace?: boolean },
  ): void;
  /** Registers a driver, in `setup`. Plugins read drivers in `ready` at the earliest. */
  register<K extends DriverKind>(kind: K, name: string, driver: Drivers[K]): void;
  /**
   * The gateway that this one replaces on a reload, so that connections and kept results can move. Set until `ready` is
   * over.
   */
  readonly previous?: Gateway | undefined;
}

/** Options of {@link createGateway}. */
export interface GatewayOptions {
  readonly preset?: Preset;
  /** Plugins in addition to the preset's. */
  readonly plugins?: readonly Plugin[];
  /** Options that replace those of plugins, by plugin name. */
  readonly options?: OptionsByPlugin;
  /** Time limits of hooks. */
  readonly limits?: HookLimits;
  /** The config file that these options are from. */
  readonly configFile?: string | undefined;
  /** Section of the config file that these options are from. */
  readonly configSection?: string | undefined;
  /** The gateway that this one replaces. */
  readonly previous?: Gateway | undefined;
  /** Called with each error that no call returns, as `error` hooks are, and also while plugins are set up. */
  readonly onReport?: ((error: GatewayError) => void) | undefined;
}

const NOTICE_LIMIT = "The limit is half of limits.hookMs.";

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
  const { preset, limits = {}, configFile, configSection } = options;
  let { previous } = options;
  const { hookMs = HOOK_MS } = limits;
  const given = [...(preset?.plugins ?? []), ...(options.plugins ?? [])];
  for (const plugin of given) if (!isPlugin(plugin)) throw createPluginError(plugin);
  const configured = configureAll(given, options.options ?? {});
  const metaTools = preset?.tools ?? [];
  const hasMetaTools = metaTools.length > 0 || typeof metaTools === "function";
  const metaServer = { id: preset?.name ?? "", builtin: true };
  if (hasMetaTools) configured.push(localTools("meta-tools", metaServer, metaTools));
  const setupOrder = sortForSetup(configured);
  const hookOrder = sortForHooks(configured);

  const hooks = createHooks<Hooks>();
  const report = (error: GatewayError): void => {
    options.onReport?.(error);
    hooks.callHookWith(inError, "error", [error]);
  };
  // A failing listener is not reported to itself.
  const inError = createIsolatedCaller((failure) => options.onReport?.(failure), hookMs);
  const inOrder: typeof callInOrder = (own, args, name) => callInOrder(own, args, name, hookMs);
  const isolated = createIsolatedCaller(report, hookMs);
  // A plugin waits in its own hook for what the catalog announces: with less time, the one that hangs is named.
  const noticeMs = hookMs / 2;
  const inNotice: typeof callInOrder = (own, args, name) =>
    callInOrder(own, args, name, noticeMs, NOTICE_LIMIT);
  const apartInNotice = createIsolatedCaller(report, noticeMs, NOTICE_LIMIT);
  const events: CatalogEvents = {
    discover: (tool) => hooks.callHookWith(inNotice, "tool:discover", [tool]),
    changed: (revision) => hooks.callHookWith(apartInNotice, "catalog:change", [revision]),
  };
  const catalog = createCatalog(events, hasMetaTools ? [metaServer.id] : []);
  const pipeline = createPipeline(hooks, catalog, report, limits, (call, index) => {
    if (index < executing.length - 1) warnOfSkipped(call, index);
  });
  const wiring = createWiring(configured, configFile ?? resolve("toolpipe.config"));
  const hooksByPlugin = new Map<Plugin, Partial<Hooks>>();
  /** The plugins with an `execute` hook, in order. */
  let executing: readonly Plugin[] = [];
  /** Plugins whose answers have been checked for plugins that they skip. */
  const checked = new Set<Plugin>();
  /** Plugins whose `ready` hook added tools to the catalog. */
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
    configSection,
    get tools() {
      return hasMetaTools ? catalog.tools(metaServer.id) : catalog.tools();
    },
    run: (request) => {
      // A call that is still running may make inner calls.
      if (!closing || (request.parent && pipeline.active.has(request.parent))) return pipeline.run(request);
      const error = new GatewayError("CLOSED", "The gateway is closing and takes no more calls.");
      return pipeline.run({ ...request, signal: AbortSignal.abort(error) });
    },
    report,
    close: (given) => {
      // During set-up, `checkOpen` stops it and closes the plugins.
      closing ??= isOpen ? shutDown(given) : Promise.resolve();
      return closing;
    },
  };

  async function shutDown({ drainMs = 30_000, cancelUnsent = false }: CloseOptions = {}): Promise<void> {
    for (const call of cancelUnsent ? [...pipeline.active] : []) {
      if (call.stage === "execute" && call.isSent !== false) continue;
      const message = "The gateway closed before the call was sent.";
      call.cancel(new GatewayError("CLOSED", message, { data: { sent: false } }));
    }
    const cancelRest = (): void => {
      for (const call of pipeline.active) {
        call.cancel(new GatewayError("CLOSED", "The gateway closed before the call was done."));
      }
    };
    const timer = drainMs <= LONGEST_TIMER_MS ? setTimeout(cancelRest, drainMs) : undefined;
    // Cancelled calls settle, and are audited, before the plugins that record them close.
    await pipeline.idle();
    clearTimeout(timer);
    await closePlugins();
  }

  async function closePlugins(): Promise<void> {
    for (const plugin of [...hooksByPlugin.keys()].reverse()) {
      const { close } = hooksByPlugin.get(plugin) ?? {};
      if (close) await isolated([close as () => void], [], "close");
    }
  }

  const checkOpen = (): void => {
    if (closing) throw new GatewayError("CLOSED", "The gateway was closed while it was set up.");
  };
  try {
    await wiring.checkAll();
    for (const plugin of setupOrder) {
      wiring.check(plugin);
      const own = await setUpPlugin(plugin, createPluginGateway(plugin), hookMs);
      hooksByPlugin.set(plugin, own);
      checkHooks(plugin.name, own);
      checkOpen();
    }
    for (const plugin of hookOrder) register(plugin);
    executing = hookOrder.filter((plugin) => hooksByPlugin.get(plugin)?.execute);
    for (const plugin of hookOrder) {
      const { ready } = hooksByPlugin.get(plugin) ?? {};
      const { revision } = catalog;
      if (ready) await inOrder([ready as () => void], [], "ready");
      if (catalog.revision > revision) suppliers.add(plugin);
      checkOpen();
    }
    await hooks.callHookWith(inOrder, "start", []);
    checkOpen();
    previous = undefined;
    isOpen = true;
    for (const message of wiring.listUnread()) report(new GatewayError("PLUGIN_INVALID", message));
  } catch (thrown) {
    await closePlugins();
    throw thrown;
  }
  return gateway;

  /** Warns once of `execute` hooks that never run for a server's tools, since an earlier plugin answers. */
  function warnOfSkipped({ tool, via, result, toolId }: Call, index: number): void {
    const plugin = executing[index];
    // A cache, for example, answers in place of the tool and sets `via`. Tools of the gateway itself need no wrappers.
    if (!plugin || checked.has(plugin) || !result || via !== undefined || tool?.builtin !== false) return;
    checked.add(plugin);
    const wrappers = executing.slice(index + 1).filter((other) => !isSupplier(other));
    const quote = (some: readonly Plugin[]): string => some.map(({ name }) => `"${name}"`).join(", ");
    const before = wrappers.filter(({ order }) => order !== "post");
    const post = wrappers.filter(({ order }) => order === "post");
    // Either may be the user's own: the advice says what can be done about each.
    warn(before, `List ${quote(before)} before "${plugin.name}", or give "${plugin.name}" the order "post".`);
    warn(post, `Leave out the order "post" of ${quote(post)}.`);

    function warn(skipped: readonly Plugin[], advice: string): void {
      if (skipped.length === 0) return;
      const message = `The "execute" hook of ${quote(skipped)} never runs for tools such as "${toolId}": "${plugin?.name}" answers first. ${advice}`;
      report(
        new GatewayError("PLUGIN_INVALID", message, { data: { plugins: skipped.map(({ name }) => name) } }),
      );
    }
  }

  /** Whether a plugin answers tools of its own, so that it need not run for those of others. */
  function isSupplier(plugin: Plugin): boolean {
    return plugin.order === "post" && ((plugin.provides ?? []).length > 0 || suppliers.has(plugin));
  }

  /** Creates the gateway of a plugin, which inherits all fields that do not differ between plugins. */
  function createPluginGateway(plugin: Plugin): PluginGateway {
    const own: PluginGateway = Object.assign(Object.create(gateway), wiring.forPlugin(plugin));
    // A getter: a gateway must not keep all gateways before it in memory.
    return Object.defineProperty(own, "previous", { get: () => previous });
  }

  function register(plugin: Plugin): void {
    const own: Record<string, unknown> = {};
    for (const [name, hook] of Object.entries(hooksByPlugin.get(plugin) ?? {})) {
      own[name] = setHookOwner(hook, plugin.name);
      hooks.hook(name as HookName, own[name] as never);
    }
    hooksByPlugin.set(plugin, own);
  }
}
