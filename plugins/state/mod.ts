import { join } from "node:path";
import * as v from "valibot";
import { definePlugin, GatewayError, type PluginFactory } from "../../core/mod.ts";
import { fileStore } from "./file.ts";
import { stateFolder } from "./folders.ts";
import { STATE_UNAVAILABLE, type StateStore } from "./store.ts";

export type { Commons } from "./commons.ts";
export { fileStore } from "./file.ts";
export { cacheFolder, type Environment, stateFolder } from "./folders.ts";
export { memoryStore } from "./memory.ts";
export {
  STATE_UNAVAILABLE,
  STATE_VALUE_INVALID,
  type StateEntry,
  type StateStore,
  updateState,
} from "./store.ts";

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `state`. */
    state?: StateStore;
  }
}

/** The options of {@link state}. */
export interface StateOptions {
  /** The folder of the files; one in the person's state folder by default. */
  readonly folder?: string;
  /**
   * A Redis that gateways on many machines share, in place of files: `redis://…` or `rediss://…`. Variables of the
   * environment (`${REDIS_PASSWORD}`) may stand in it.
   */
  readonly state?: string;
  /** Nothing waits longer for Redis than this; 250 by default, so that a decision is there within 300. */
  readonly timeoutMs?: number;
  /** Where state is kept, in place of both. */
  readonly store?: StateStore;
}

const options = v.strictObject({
  folder: v.optional(v.string()),
  state: v.optional(
    v.pipe(v.string(), v.regex(/^rediss?:\/\//, "an address that begins with redis:// or rediss://")),
  ),
  timeoutMs: v.optional(v.pipe(v.number(), v.minValue(1, "a number of milliseconds, 1 or more"))),
  store: v.optional(v.custom<StateStore>(isStore, "a state store")),
});

/** Keeps what must survive a restart. Nothing is written before a plugin has something to keep. */
export const state: PluginFactory<"state", StateOptions> = definePlugin({
  name: "state",
  keys: ["state"],
  takesText: true,
  options: options as v.GenericSchema<StateOptions, StateOptions>,
  async setup(gateway, { folder, state: address, timeoutMs, store }) {
    const shared = address === undefined ? undefined : await openRedis(address, timeoutMs);
    const kept = store ?? shared?.store ?? fileStore(folder ?? join(stateFolder(), "store"));
    gateway.services.state = kept;
    return {
      ready() {
        if (shared?.isThere === false) gateway.report(new GatewayError(STATE_UNAVAILABLE, NOT_THERE));
      },
      close: () => kept.close(),
    };
  },
});

const NOT_THERE = "Redis cannot be reached: until it can be, nothing is done that needs to be remembered.";

/** One that is not there now may come; one that throws keys away is none. */
async function openRedis(
  address: string,
  timeoutMs: number | undefined,
): Promise<{ store: StateStore; isThere: boolean }> {
  const { redisStore } = await import("./redis.ts");
  const store = redisStore(withVariables(address), { timeoutMs });
  try {
    return { store, isThere: await store.isThere() };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

function withVariables(address: string): string {
  return address.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = process.env[name];
    if (value !== undefined) return encodeURIComponent(value);
    throw new GatewayError("CONFIG_INVALID", `state: the variable ${name} is not set.`);
  });
}

function isStore(value: unknown): value is StateStore {
  const store = value as Partial<StateStore> | null;
  const methods = [store?.get, store?.setIfAbsent, store?.replace, store?.delete, store?.list, store?.close];
  return methods.every((method) => typeof method === "function");
}
