import type { Gateway } from "../../core/mod.ts";
import { memoryStore } from "../state/memory.ts";
import type {} from "../state/mod.ts";
import type { StateStore } from "../state/store.ts";

/** Where the guard keeps what it must remember: the state of the gateway or, where it has none, this process. */
export function guardStore({ services }: Gateway): StateStore {
  return services.state ?? memoryStore();
}
