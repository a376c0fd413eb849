import { join } from "node:path";
import * as v from "valibot";
import { definePlugin, type Gateway, GatewayError } from "../../core/mod.ts";
import {
  isDamaged,
  STATE_DAMAGED,
  STATE_LOST,
  STATE_UNAVAILABLE,
  STATE_VALUE_INVALID,
  STATE_VOLATILE,
  type StateStore,
  type StateStoreDriver,
} from "../../core/services/state.ts";
import { createDriver, type DriverOptions, driverChoice, getDriverName } from "../lib/driver-choice.ts";
import { stateFolder } from "../lib/folders.ts";
import { memoryStore } from "../lib/memory-store.ts";
import { option } from "../lib/options.ts";
import { fileStore } from "./file.ts";
import type { RedisStore, RedisStoreOptions } from "./redis.ts";

export {
  type SharedState,
  STATE_DAMAGED,
  STATE_UNAVAILABLE,
  STATE_VALUE_INVALID,
  type StateStore,
  type StateStoreDriver,
  updateState,
} from "../../core/services/state.ts";
export { cacheFolder, type Environment, stateFolder } from "../lib/folders.ts";
export { decodeState, encodeState, memoryStore } from "../lib/memory-store.ts";
export { fileStore } from "./file.ts";

const options = v.strictObject({
  folder: option(v.string(), "Folder of the files. Without it, a folder in the user's state folder."),
  state: option(
    v.pipe(v.string(), v.regex(/^rediss?:\/\//, "an address that begins with redis:// or rediss://")),
    `Address of a Redis that gateways on many machines share, in place of files. Environment variables such as \${REDIS_PASSWORD} are replaced.`,
  ),
  timeoutMs: option(
    v.pipe(v.number(), v.minValue(1, "a number of milliseconds, 1 or more")),
    "Milliseconds that one step in Redis may take. Without it 250, so that a decision takes less than 300.",
  ),
  volatile: option(
    v.picklist(["refuse", "allow"]),
    "Whether calls that need an idempotency key are made on a Redis that keeps nothing on a disk (no AOF and no snapshots): after a restart of Redis, each could be made again. With `allow`, this is a warning.",
    "refuse",
  ),
  store: option(
    v.union(
      [v.custom<StateStore>(isStore), driverChoice],
      "a state store, the name of a driver, or the path of a module",
    ),
    "Store in place of both: `files`, `memory`, or the path of a module that exports one, alone or as `{ type, ...options }`.",
  ),
});

/** Options for the state plugin. */
export type StateOptions = v.InferInput<typeof options>;

/** Built-in state stores. */
const stateStores: Readonly<Record<string, StateStoreDriver>> = {
  files: ({ folder }) => fileStore(typeof folder === "string" ? folder : defaultFolder()),
  memory: () => memoryStore(),
  redis: async ({ address, timeoutMs, volatile }) =>
    (
      await openRedis(String(address), {
        timeoutMs: typeof timeoutMs === "number" ? timeoutMs : undefined,
        volatile: volatile === "allow" ? "allow" : "refuse",
        folder: join(stateFolder(), "redis"),
      })
    ).store,
};

/** Stores what must survive a restart. Nothing is written before a plugin has something to store. */
export const state = definePlugin({
  name: "state",
  uses: [],
  provides: ["state"],
  keys: ["state"],
  takesString: true,
  options,
  errors: { STATE_DAMAGED, STATE_LOST, STATE_UNAVAILABLE, STATE_VALUE_INVALID },
  async setup(gateway, { folder = defaultFolder(), state: address, timeoutMs, volatile, store: choice }) {
    for (const [name, driver] of Object.entries(stateStores)) gateway.register("stateStore", name, driver);
    const shared =
      choice || address === undefined
        ? undefined
        : await openRedis(address, {
            timeoutMs,
            volatile,
            folder: join(stateFolder(), "redis"),
            onLost: (error) => gateway.report(error),
          });
    const store = await openStore();
    gateway.provide("state", reportDamage(gateway, store));
    return {
      ready() {
        if (shared?.problem) gateway.report(shared.problem);
      },
      close: () => store.close(),
    };

    async function openStore(): Promise<StateStore> {
      if (choice === undefined) return shared?.store ?? fileStore(folder);
      if (getDriverName(choice) === undefined) return choice as StateStore;
      const created = await createDriver(gateway, "stateStore", choice as string | DriverOptions);
      if (isStore(created)) return created;
      throw new GatewayError(
        "CONFIG_INVALID",
        `state.store: "${getDriverName(choice)}" did not create a state store. It needs get, setIfAbsent, replace, delete, list and close.`,
      );
    }
  },
});

/** Reports each damaged record once, when it is first read: the user has to know, whatever the reader makes of it. */
function reportDamage(gateway: Gateway, store: StateStore): StateStore {
  const reported = new Set<string>();
  return {
    get volatile() {
      return store.volatile;
    },
    get generation() {
      return store.generation;
    },
    async checkKept() {
      try {
        await store.checkKept?.();
        reported.delete(STATE_LOST.code);
      } catch (thrown) {
        const error = GatewayError.from(thrown);
        if (error.code === STATE_LOST.code && !reported.has(error.code)) {
          reported.add(error.code);
          gateway.report(error);
        }
        throw thrown;
      }
    },
    acknowledge: async () => (await store.acknowledge?.()) ?? false,
    clock: store.clock,
    shared: store.shared,
    async get(key) {
      try {
        return await store.get(key);
      } catch (thrown) {
        if (isDamaged(thrown) && !reported.has(key)) {
          reported.add(key);
          gateway.report(GatewayError.from(thrown));
        }
        throw thrown;
      }
    },
    setIfAbsent: (key, value) => store.setIfAbsent(key, value),
    replace: (key, value, expected) => store.replace(key, value, expected),
    delete: (key, expected) => store.delete(key, expected),
    list: (prefix) => store.list(prefix),
    listDamaged: async () => (await store.listDamaged?.()) ?? [],
    close: () => store.close(),
  };
}

function defaultFolder(): string {
  return join(stateFolder(), "store");
}

/** Opens a store in Redis. One that is down may come back; one that may evict keys is refused. */
async function openRedis(
  address: string,
  options: RedisStoreOptions,
): Promise<{ store: StateStore; problem: GatewayError | undefined }> {
  const { redisStore } = await import("./redis.ts");
  const store = redisStore(expandVariables(address), options);
  try {
    return { store, problem: await findProblem(store, options.volatile) };
  } catch (thrown) {
    await store.close();
    throw thrown;
  }
}

/** Returns what the user has to know at the start. */
async function findProblem(
  store: RedisStore,
  volatile: RedisStoreOptions["volatile"],
): Promise<GatewayError | undefined> {
  if (!(await store.isReachable())) {
    const why = store.failure === undefined ? "" : ` (${store.failure})`;
    const message = `Redis cannot be reached${why}. Calls that need stored state fail until Redis is back.`;
    return new GatewayError(STATE_UNAVAILABLE, message);
  }
  try {
    await store.learn();
  } catch (thrown) {
    return GatewayError.from(thrown);
  }
  if (!store.keepsNothing) return undefined;
  const effect =
    volatile === "allow"
      ? "after its restart, calls can be made again under a key that was used"
      : 'calls that need an idempotency key are refused. Set appendonly yes in Redis, or state.volatile to "allow"';
  return new GatewayError(
    STATE_VOLATILE,
    `Redis keeps nothing on a disk, as far as it says (no AOF, no snapshots): ${effect}.`,
  );
}

function expandVariables(address: string): string {
  return address.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = process.env[name];
    if (value !== undefined) return encodeURIComponent(value);
    throw new GatewayError("CONFIG_INVALID", `state: the environment variable ${name} is not set.`);
  });
}

function isStore(value: unknown): value is StateStore {
  const store = value as Partial<StateStore> | null;
  const methods = [store?.get, store?.setIfAbsent, store?.replace, store?.delete, store?.list, store?.close];
  return methods.every((method) => typeof method === "function");
}
