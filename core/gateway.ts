import { createHooks } from "hookable";
import { configureAll, inHookOrder, inSetupOrder, type OptionsByPlugin } from "./assemble.ts";
import type { CallRequest, SettledCall } from "./call.ts";
import { type Catalog, type CatalogEvents, createCatalog } from "./catalog.ts";
import { GatewayError } from "./errors.ts";
import { type HookName, type Hooks, hookNames, inOrder, isolated, owned } from "./hooks.ts";
import { localTools } from "./local-tools.ts";
import { nearest } from "./nearest.ts";
import { createPipeline } from "./pipeline.ts";
import { isPlugin, type Plugin } from "./plugin.ts";
import type { Preset } from "./preset.ts";
import type { Tool } from "./tool.ts";

/** What a timer can hold; anything longer is for ever. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What plugins offer one another, each under its own name. A plugin declares its slot by augmenting this interface. */
// biome-ignore lint/suspicious/noEmptyInterface: plugins fill it by declaration merging
export interface Services {}

/** The pipeline with its catalog and plugins. */
export interface Gateway {
  readonly catalog: Catalog;
  /** The plugins, in the order in which their hooks run. */
  readonly plugins: readonly string[];
  /** The tools an agent sees: those of the preset or, where it has none, all of the catalog. */
  readonly tools: readonly Tool[];
  readonly services: Services;
  /** The config file it was made from, if there was one. */
  readonly configFile: string | undefined;
  /** Runs one call through the five stages. Never rejects: the settled call says how it went. */
  run(request: CallRequest): Promise<SettledCall>;
  /** Tells the `error` hooks of a failure outside any call. */
  report(error: GatewayError): void;
  /** Lets the calls on their way finish for up to `drainMs`, cancels the rest, and closes the plugins, the last one first. */
  close(options?: { readonly drainMs?: number }): Promise<void>;
}

/** What a gateway is made of. */
export interface GatewayOptions {
  readonly preset?: Preset;
  /** Appended to the preset's. */
  readonly plugins?: readonly Plugin[];
  /** Options that replace those of plugins, by plugin name. */
  readonly options?: OptionsByPlugin;
  /** The config file all this came from. */
  readonly configFile?: string | undefined;
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
  const { preset } = options;
  const given = [...(preset?.plugins ?? []), ...(options.plugins ?? [])];
  for (const plugin of given) if (!isPlugin(plugin)) throw notAPlugin(plugin);
  const configured = configureAll(given, options.options ?? {});
  const metaTools = preset?.tools ?? [];
  const metaServer = { id: preset?.name ?? "", builtin: true };
  if (metaTools.length > 0) configured.push(localTools("meta-tools", metaServer, metaTools));
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
  const events: CatalogEvents = {
    discover: (tool) => hooks.callHookWith(inOrder, "tool:discover", [tool]),
    changed: (revision) => hooks.callHookWith(isolated(report), "catalog:change", [revision]),
  };
  const catalog = createCatalog(events, metaTools.length > 0 ? [metaServer.id] : []);
  const pipeline = createPipeline(hooks, catalog, report);
  const hooksOf = new Map<Plugin, Partial<Hooks>>();
  let isOpen = false;
  let closing: Promise<void> | undefined;

  const gateway: Gateway = {
    catalog,
    plugins: hookOrder.map((plugin) => plugin.name),
    services: {},
    configFile: options.configFile,
    get tools() {
      return metaTools.length > 0 ? catalog.tools(metaServer.id) : catalog.tools();
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
      if (close) await isolated(report)([close as () => void], [], "close");
    }
  }

  const goOn = (): void => {
    if (closing) throw new GatewayError("CLOSED", "The gateway was closed while it was set up.");
  };
  try {
    for (const plugin of setupOrder) {
      const own = await setUp(plugin, gateway);
      hooksOf.set(plugin, own);
      checkHooks(plugin.name, own);
      goOn();
    }
    for (const plugin of hookOrder) register(plugin);
    for (const plugin of hookOrder) {
      const { ready } = hooksOf.get(plugin) ?? {};
      if (ready) await inOrder([ready as () => void], [], "ready");
      goOn();
    }
    isOpen = true;
  } catch (thrown) {
    await closePlugins();
    throw thrown;
  }
  return gateway;

  function register(plugin: Plugin): void {
    const own: Record<string, unknown> = {};
    for (const [name, hook] of Object.entries(hooksOf.get(plugin) ?? {})) {
      own[name] = owned(hook, plugin.name);
      hooks.hook(name as HookName, own[name] as never);
    }
    hooksOf.set(plugin, own);
  }
}

async function setUp(plugin: Plugin, gateway: Gateway): Promise<Partial<Hooks>> {
  try {
    return (await plugin.setup(gateway)) ?? {};
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
