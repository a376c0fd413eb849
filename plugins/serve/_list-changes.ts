import type { Gateway } from "../../core/mod.ts";
import type { Prompts } from "./prompts.ts";
import type { Resources } from "./resources.ts";

/** What clients list, and hear of when it changes. */
export type ListName = "tools" | "prompts" | "resources";

/** Who hears that lists are others. */
export interface ListChanges {
  /** The lists that a gateway has and whose changes are noticed; from now on, where that is new. */
  of(gateway: Gateway | undefined): ReadonlySet<ListName>;
  /** Another gateway is shown: its lists are others. */
  renew(gateway: Gateway): void;
  tell(list: ListName): void;
  /** Returns what ends it. */
  listen(listener: (list: ListName) => void): () => void;
}

/** While servers are asked for what they have, lists change many times in a row. */
export const SETTLE_MS = 100;

/** Makes what tells that lists have changed. Only the gateway that is shown counts. */
export function createListChanges(shown: () => Gateway | undefined): ListChanges {
  const listeners = new Set<(list: ListName) => void>();
  const followed = new WeakSet<Resources | Prompts>();
  const settling = new Set<ListName>();

  return {
    of: listsOf,
    renew(gateway) {
      for (const list of listsOf(gateway)) if (list !== "tools") tellSoon(list, gateway);
    },
    tell,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  function listsOf(gateway: Gateway | undefined): ReadonlySet<ListName> {
    const lists = new Set<ListName>(["tools"]);
    for (const list of ["prompts", "resources"] as const) {
      const all = gateway?.services[list];
      if (!all?.canChange) continue;
      lists.add(list);
      if (followed.has(all)) continue;
      followed.add(all);
      all.onChanged(() => tellSoon(list, gateway));
    }
    return lists;
  }

  function tellSoon(list: ListName, of: Gateway | undefined): void {
    if (of !== shown() || settling.has(list)) return;
    settling.add(list);
    const timer = setTimeout(() => {
      settling.delete(list);
      tell(list);
    }, SETTLE_MS);
    timer.unref?.();
  }

  function tell(list: ListName): void {
    for (const listener of listeners) listener(list);
  }
}
