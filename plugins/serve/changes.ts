import { type Actor, type Gateway, GatewayError, localUser, type MaybePromise } from "../../core/mod.ts";
import type { WatchOptions } from "../../core/services/resources.ts";
import { getPrompts, getResources, type Prompts, type Resources } from "./providers.ts";

/** A list whose changes clients are notified of. */
export type ListName = "tools" | "prompts" | "resources";

/** Changes of the lists of a view. */
export interface ListChanges {
  /** The lists of the current gateway whose changes are noticed. */
  changing(): ReadonlySet<ListName>;
  /** Notes that the gateway was replaced, so that all its lists changed. */
  renew(): void;
  notify(list: ListName): void;
  /** Returns a function that ends it. */
  listen(listener: (list: ListName) => void): () => void;
}

/** While servers are connected, lists change many times in a row: clients are notified once. */
export const SETTLE_MS = 100;

/** Notices when a list of the current gateway changes. */
export function createListChanges(gateway: () => Gateway | undefined): ListChanges {
  const listeners = new Set<(list: ListName) => void>();
  const followed = new WeakSet<Resources | Prompts>();
  const settling = new Set<ListName>();

  return {
    changing,
    renew() {
      for (const list of changing()) if (list !== "tools") notifySoon(list);
    },
    notify,
    listen(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };

  function changing(): ReadonlySet<ListName> {
    const current = gateway();
    const lists = new Set<ListName>(["tools"]);
    const providers = [
      ["prompts", getPrompts(current)],
      ["resources", getResources(current)],
    ] as const;
    for (const [list, all] of providers) {
      if (!all?.canChange) continue;
      lists.add(list);
      if (followed.has(all)) continue;
      followed.add(all);
      all.onChange(() => {
        if (current === gateway()) notifySoon(list);
      });
    }
    return lists;
  }

  function notifySoon(list: ListName): void {
    if (settling.has(list)) return;
    settling.add(list);
    const timer = setTimeout(() => {
      settling.delete(list);
      notify(list);
    }, SETTLE_MS);
    timer.unref?.();
  }

  function notify(list: ListName): void {
    for (const listener of listeners) listener(list);
  }
}

/** Resources that clients watch. Each URI is watched once, however many clients do. */
export interface ResourceWatches {
  /** Returns a function that ends it. Rejects if the URI cannot be watched. */
  watch(uri: string, options: WatchOptions): Promise<() => void>;
  /** Watches all URIs again, in the gateway that replaced the one before. */
  renew(): void;
}

interface Watch {
  readonly uri: string;
  readonly actor: Actor;
  readonly listeners: Set<(uri: string) => void>;
  stop: Promise<() => MaybePromise<void>>;
}

/** Watches resources of the current gateway. */
export function createResourceWatches(
  resources: () => Resources | undefined,
  report: (error: GatewayError) => void,
): ResourceWatches {
  const all = new Map<string, Watch>();

  return {
    async watch(uri, { actor = localUser, onUpdate }) {
      const key = JSON.stringify([actor.id, uri]);
      let watch = all.get(key);
      if (!watch) {
        const listeners = new Set<(uri: string) => void>();
        watch = { uri, actor, listeners, stop: start(uri, actor, listeners) };
        all.set(key, watch);
      }
      const { listeners, stop } = watch;
      // A function of its own: the same callback may watch twice and end once.
      const listener = (changed: string): void => onUpdate(changed);
      listeners.add(listener);
      const end = (): void => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        if (all.get(key)?.listeners === listeners) all.delete(key);
        finish(watch);
      };
      try {
        await stop;
      } catch (thrown) {
        end();
        throw thrown;
      }
      return end;
    },
    renew() {
      for (const watch of all.values()) {
        finish(watch);
        watch.stop = start(watch.uri, watch.actor, watch.listeners);
        watch.stop.catch((thrown) => report(GatewayError.from(thrown)));
      }
    },
  };

  async function start(
    uri: string,
    actor: Actor,
    listeners: ReadonlySet<(uri: string) => void>,
  ): Promise<() => MaybePromise<void>> {
    const onUpdate = (changed: string): void => {
      for (const listener of listeners) listener(changed);
    };
    const present = resources();
    // Resources that are missing in this gateway may be there again in the next.
    return present ? present.watch(uri, { actor, onUpdate }) : () => {};
  }

  function finish({ stop }: Watch): void {
    // A watch that could not start needs no end, and its client was told.
    stop.then(
      (end) => Promise.resolve(end()).catch((thrown) => report(GatewayError.from(thrown))),
      () => {},
    );
  }
}
