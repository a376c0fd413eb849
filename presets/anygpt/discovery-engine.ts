import * as v from "valibot";
import {
  createGateway,
  type Gateway,
  GatewayError,
  type GatewayOptions,
  type MaybePromise,
} from "../../core/mod.ts";
import type { CacheOptions } from "../../plugins/cache/mod.ts";
import type { RulesOptions } from "../../plugins/rules/mod.ts";
import { type Engine, engineOf } from "./engine.ts";
import { anygpt } from "./preset.ts";

/** The config of the AnyGPT specification: what stands under `discovery` in an `anygpt.config.ts`. */
export interface DiscoveryConfig {
  /** Where it is false, there are no servers. */
  readonly enabled: boolean;
  readonly cache?: Pick<CacheOptions, "enabled" | "ttl">;
  readonly sources?: readonly { readonly type: string; readonly path?: string | undefined }[];
  readonly servers?: readonly { readonly name: string; readonly [key: string]: unknown }[];
  readonly toolRules?: NonNullable<RulesOptions["toolRules"]>;
}

/** An engine with a gateway of its own. */
export interface DiscoveryEngine extends Engine {
  /** The gateway it asks right now; another one after a reload. */
  readonly gateway: Gateway;
  /** Makes everything anew from the config. If that fails, all stays as it was, and it rejects. Calls on their way finish. */
  reload(): Promise<void>;
  /** The config in use, with its defaults. */
  getConfig(): Required<DiscoveryConfig>;
  /** Lets the calls on their way finish, and closes every server. */
  close(): Promise<void>;
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
  toolRules: list,
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
  config: Partial<DiscoveryConfig> | (() => MaybePromise<Partial<DiscoveryConfig>>),
  extra: Pick<GatewayOptions, "plugins" | "options"> = {},
): Promise<DiscoveryEngine> {
  const open = async (): Promise<Opened> => {
    const checked = checkedConfig(typeof config === "function" ? await config() : config);
    const options: Record<string, object | undefined> = { ...optionsFor(checked) };
    for (const [name, own] of Object.entries(extra.options ?? {}))
      options[name] = { ...options[name], ...own };
    return { config: checked, gateway: await createGateway({ preset: anygpt, ...extra, options }) };
  };
  return engineAround(await open(), open);
}

interface Opened {
  readonly config: Required<DiscoveryConfig>;
  readonly gateway: Gateway;
}

function engineAround(first: Opened, open: () => Promise<Opened>): DiscoveryEngine {
  let current = first;
  let closed = false;
  let turn: Promise<unknown> = Promise.resolve();
  const closing = new Set<Promise<void>>();
  const engine = (): Engine => engineOf(current.gateway);

  const retire = ({ gateway }: Opened): void => {
    const ending = gateway.close().finally(() => closing.delete(ending));
    closing.add(ending);
  };
  const swap = async (): Promise<void> => {
    const next = closed ? undefined : await open();
    // What was made while everything was closed is not wanted any more.
    if (closed && next) retire(next);
    if (closed || !next) throw new GatewayError("CLOSED", "The engine is closed and cannot be reloaded.");
    const old = current;
    current = next;
    // In the background: a call on its way may take its time.
    retire(old);
  };

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
      // One after another, so that the last one is what remains.
      const own = turn.then(swap);
      turn = own.catch(() => {});
      return own;
    },
    getConfig: () => current.config,
    async close() {
      closed = true;
      await turn;
      retire(current);
      await Promise.all(closing);
    },
  };
}

function checkedConfig(given: unknown): Required<DiscoveryConfig> {
  const parsed = v.safeParse(configSchema, given);
  if (parsed.success) return parsed.output as Required<DiscoveryConfig>;
  const [issue] = parsed.issues;
  const path = v.getDotPath(issue) ?? "the config";
  const what =
    issue.type === "strict_object" && issue.expected === "never"
      ? "there is no such option"
      : `expected ${issue.message.startsWith("Invalid ") ? issue.expected : issue.message}`;
  throw new GatewayError("CONFIG_INVALID", `discovery: ${path}: ${what}`);
}

function optionsFor(config: Required<DiscoveryConfig>): Record<string, object> {
  const { enabled, cache, sources, servers, toolRules } = config;
  return { cache, sources: enabled ? { sources, servers } : {}, rules: { toolRules } };
}
