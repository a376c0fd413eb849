import { join } from "node:path";
import * as v from "valibot";
import { definePlugin, GatewayError, type PluginFactory } from "../../core/mod.ts";
import { STATE_UNAVAILABLE, type StateStore, type StateStoreDriver } from "../../core/services/state.ts";
import { createFrom, type DriverOptions, driverChoice, driverName } from "../lib/driver-choice.ts";
import { stateFolder } from "../lib/folders.ts";
import { memoryStore } from "../lib/memory-store.ts";
import { fileStore } from "./file.ts";

export {
  type SharedState,
  STATE_UNAVAILABLE,
  STATE_VALUE_INVALID,
  type StateEntry,
  type StateStore,
  type StateStoreDriver,
  updateState,
} from "../../core/services/state.ts";
export { cacheFolder, type Environment, stateFolder } from "../lib/folders.ts";
export { decodeState, encodeState, memoryStore } from "../lib/memory-store.ts";
export { fileStore } from "./file.ts";

/** Options of the plugin `state`. */
export interface StateOptions {
  /** The folder of the files; one in the user's state folder by default. */
  readonly folder?: string;
  /**
   * A Redis that gateways on many machines share, in place of files: `redis://…` or `rediss://…`. Variables of the
   * environment (`${REDIS_PASSWORD}`) are replaced.
   */
  readonly state?: string;
  /** Timeout of a step in Redis in milliseconds; 250 by default, so that a decision takes less than 300. */
  readonly timeoutMs?: number;
  /**
   * A store in place of both: `files`, `memory`, or the path of a module that exports one, alone or as
   * `{ type, ...options }`; or a store.
   */
  readonly store?: string | DriverOptions | StateStore;
}

const options = v.strictObject({
  folder: v.optional(v.string()),
  state: v.optional(
    v.pipe(v.string(), v.regex(/^rediss?:\/\//, "an address that begins with redis:// or rediss://")),
  ),
  timeoutMs: v.optional(v.pipe(v.number(), v.minValue(1, "a number of milliseconds, 1 or more"))),
  store: v.optional(
    v.union(
      [v.custom<StateStore>(isStore), driverChoice],
      "a state store, the name of a driver, or the path of a module",
    ),
  ),
});

/** Built-in state stores. */
const stateStores: Readonly<Record<string, StateStoreDriver>> = {
  files: ({ folder }) => fileStore(typeof folder === "string" ? folder : defaultFolder()),
  memory: () => memoryStore(),
  redis: async ({ address, timeoutMs }) =>
    (await openRedis(String(address), typeof timeoutMs === "number" ? timeoutMs : undefined)).store,
};

/** Stores what must survive a restart. Nothing is written before a plugin has something to store. */
export const state: PluginFactory<"state", StateOptions> = definePlugin({
  name: "state",
  uses: [],
  provides: ["state"],
  keys: ["state"],
  takesText: true,
  options: options as v.GenericSchema<StateOptions, StateOptions>,
  async setup(gateway, { folder = defaultFolder(), state: address, timeoutMs, store: choice }) {
    for (const [name, driver] of Object.entries(stateStores)) gateway.register("stateStore", name, driver);
    const shared = choice || address === undefined ? undefined : await openRedis(address, timeoutMs);
    const store = await chosenStore();
    gateway.provide("state", store);
    return {
      ready() {
        if (shared?.isThere === false) gateway.report(new GatewayError(STATE_UNAVAILABLE, NOT_THERE));
      },
      close: () => store.close(),
    };

    async function chosenStore(): Promise<StateStore> {
      if (choice === undefined) return shared?.store ?? fileStore(folder);
      if (driverName(choice) === undefined) return choice as StateStore;
      const created = await createFrom(gateway, "stateStore", choice as string | DriverOptions);
      if (isStore(created)) return created;
      throw new GatewayError(
        "CONFIG_INVALID",
        `state.store: "${driverName(choice)}" did not create a state store. It needs get, setIfAbsent, replace, delete, list and close.`,
      );
    }
  },
});

const NOT_THERE = "Redis cannot be reached: until it can be, nothing is done that needs to be remembered.";

function defaultFolder(): string {
  return join(stateFolder(), "store");
}

/** Opens a store in Redis. One that is down may come back; one that may evict keys is refused. */
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
