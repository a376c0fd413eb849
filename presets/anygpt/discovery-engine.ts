import * as v from "valibot";
import type { BuiltinOptions } from "../../core/config-types.ts";
import {
  createGateway,
  type Gateway,
  GatewayError,
  type GatewayOptions,
  type LoadedConfig,
  type MaybePromise,
} from "../../core/mod.ts";
import { createEngine, type Engine } from "./engine.ts";
import { anygpt } from "./preset.ts";

/** The config of the AnyGPT specification, under `discovery` in an `anygpt.config.ts`. */
export interface DiscoveryConfig {
  /** Whether there are servers at all. */
  readonly enabled: boolean;
  readonly cache?: Pick<NonNullable<BuiltinOptions["cache"]>, "enabled" | "ttl">;
  readonly sources?: readonly { readonly type: string; readonly path?: string | undefined }[];
  readonly servers?: readonly { readonly name: string; readonly [key: string]: unknown }[];
  readonly toolRules?: NonNullable<NonNullable<BuiltinOptions["rules"]>["toolRules"]>;
}

/** An engine with a gateway of its own. */
export interface DiscoveryEngine extends Engine {
  /** The current gateway; a reload replaces it. */
  readonly gateway: Gateway;
  /**
   * Opens a gateway from the config anew, and asks every server for its tools again. If that fails it rejects and the old
   * one stays. Pending calls finish.
   */
  reload(): Promise<void>;
  /** Returns the config in use, with its defaults. */
  getConfig(): Required<DiscoveryConfig>;
  /** Waits for pending calls, and closes every server. */
  close(): Promise<void>;
}

interface Opened {
  readonly config: Required<DiscoveryConfig>;
  readonly gateway: Gateway;
}

const list = v.optional(v.array(v.unknown(), "a list"), []);
const configSchema = v.strictObject({
  enabled: v.optional(v.boolean("true or false"), true),
  cache: v.optional(
    v.looseObject({ enabled: v.optional(v.boolean(), true), ttl: v.optional(v.number(), 3600) }),
    {},
  ),
  sources: list,
  servers: list,
  // The plugin "rules" checks its own option: a list, or rules with the way conflicts are settled.
  toolRules: v.optional(v.union([v.array(v.unknown()), v.looseObject({})], "a list"), []),
});

/**
 * Opens the engine of the AnyGPT specification with a gateway of its own. A config that may change is given as a
 * function, which every reload calls again.
 *
 * @example
 * ```ts
 * import { createDiscoveryEngine } from "toolpipe/presets/anygpt";
 *
 * const engine = await createDiscoveryEngine({ enabled: true, servers: [] });
 * console.log(await engine.searchTools("read a file"));
 * await engine.close();
 * ```
 */
export async function createDiscoveryEngine(
  given: Partial<DiscoveryConfig> | (() => MaybePromise<Partial<DiscoveryConfig>>),
  extra: Pick<GatewayOptions, "plugins" | "options"> = {},
): Promise<DiscoveryEngine> {
  let current = await open();
  let isClosed = false;
  let lastReload: Promise<unknown> = Promise.resolve();
  const closing = new Set<Promise<void>>();
  let listedAfter = 0;
  const engine = (): Engine => createEngine(current.gateway, { listedAfter });

  async function open(): Promise<Opened> {
    const config = parseDiscoveryConfig(typeof given === "function" ? await given() : given);
    return { config, gateway: await createGateway(toGatewayConfig(config, extra)) };
  }
  /** Closes a gateway in the background: its pending calls may take their time. */
  function retire({ gateway }: Opened): void {
    const ending = gateway.close().finally(() => closing.delete(ending));
    closing.add(ending);
  }
  async function replace(): Promise<void> {
    const next = isClosed ? undefined : await open();
    // The engine may have been closed meanwhile.
    if (isClosed && next) retire(next);
    if (isClosed || !next) throw new GatewayError("CLOSED", "The engine is closed and cannot be reloaded.");
    retire(current);
    current = next;
    listedAfter = Date.now();
    refreshAll(next.gateway);
  }

  return {
    get gateway() {
      return current.gateway;
    },
    listServers: () => engine().listServers(),
    searchTools: (...args) => engine().searchTools(...args),
    listTools: (...args) => engine().listTools(...args),
    getToolDetails: (...args) => engine().getToolDetails(...args),
    executeTool: (...args) => engine().executeTool(...args),
    executeStream: (...args) => engine().executeStream(...args),
    reload() {
      // In turn, so that the last one wins.
      const own = lastReload.then(replace);
      lastReload = own.catch(() => {});
      return own;
    },
    getConfig: () => current.config,
    async close() {
      isClosed = true;
      await lastReload;
      retire(current);
      await Promise.all(closing);
    },
  };
}

/** Asks every server for its tools again, in the background: until then those of its cached listing are there. */
export function refreshAll({ services }: Gateway): void {
  services.servers?.refresh().catch(() => {});
}

/** Creates the config of the gateway of a discovery config. */
export function toGatewayConfig(
  { enabled, cache, sources, servers, toolRules }: Required<DiscoveryConfig>,
  extra: Pick<GatewayOptions, "plugins" | "options"> = {},
): LoadedConfig {
  const options: Record<string, object | undefined> = {
    cache,
    sources: enabled ? { sources, servers } : {},
    rules: { toolRules },
  };
  for (const [name, own] of Object.entries(extra.options ?? {})) options[name] = { ...options[name], ...own };
  return { preset: anygpt, ...extra, options };
}

/** Checks a discovery config, and adds its defaults. Plugins check sources, servers and rules. */
export function parseDiscoveryConfig(given: unknown): Required<DiscoveryConfig> {
  // A list would pass for an object without fields.
  const parsed = v.safeParse(configSchema, Array.isArray(given) ? null : given);
  if (parsed.success) return parsed.output as Required<DiscoveryConfig>;
  const [issue] = parsed.issues;
  const path = v.getDotPath(issue) ?? "the config";
  const what =
    issue.type === "strict_object" && issue.expected === "never"
      ? "there is no such option"
      : `expected ${issue.message.startsWith("Invalid ") ? issue.expected : issue.message}`;
  throw new GatewayError("CONFIG_INVALID", `discovery: ${path}: ${what}`);
}
