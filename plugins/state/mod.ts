import { join } from "node:path";
import * as v from "valibot";
import { definePlugin, type PluginFactory } from "../../core/mod.ts";
import { fileStore } from "./file.ts";
import { stateFolder } from "./folders.ts";
import type { StateStore } from "./store.ts";

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
  /** Where state is kept, in place of files. */
  readonly store?: StateStore;
}

const options = v.strictObject({
  folder: v.optional(v.string()),
  store: v.optional(v.custom<StateStore>(isStore, "a state store")),
});

/** Keeps what must survive a restart. Nothing is written before a plugin has something to keep. */
export const state: PluginFactory<"state", StateOptions> = definePlugin({
  name: "state",
  options: options as v.GenericSchema<StateOptions, StateOptions>,
  setup(gateway, { folder = undefined, store = undefined }) {
    const kept = store ?? fileStore(folder ?? join(stateFolder(), "store"));
    gateway.services.state = kept;
    return { close: () => kept.close() };
  },
});

function isStore(value: unknown): value is StateStore {
  const store = value as Partial<StateStore> | null;
  const methods = [store?.get, store?.setIfAbsent, store?.replace, store?.delete, store?.list, store?.close];
  return methods.every((method) => typeof method === "function");
}
