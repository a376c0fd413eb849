import { type Actor, GatewayError, localUser, type MaybePromise } from "../../core/mod.ts";
import type { Resources, WatchOptions } from "./resources.ts";

/** What clients watch. Each URI is watched once, however many of them do. */
export interface Watching {
  /** Returns what ends it. Rejects where it cannot be watched. */
  watch(uri: string, options: WatchOptions): Promise<() => void>;
  /** Watches the same anew: there is another gateway now. */
  renew(): void;
}

interface Watched {
  readonly uri: string;
  readonly actor: Actor;
  readonly listeners: Set<(uri: string) => void>;
  stop: Promise<() => MaybePromise<void>>;
}

/** Watches resources, wherever they are at the time. */
export function createWatching(
  resources: () => Resources | undefined,
  report: (error: GatewayError) => void,
): Watching {
  const all = new Map<string, Watched>();

  return {
    async watch(uri, { actor = localUser, onUpdate }) {
      const key = JSON.stringify([actor.id, uri]);
      let watched = all.get(key);
      if (!watched) {
        const listeners = new Set<(uri: string) => void>();
        watched = { uri, actor, listeners, stop: begin(uri, actor, listeners) };
        all.set(key, watched);
      }
      const { listeners, stop } = watched;
      // One of its own: the same function may watch twice, and end once.
      const listener = (changed: string): void => onUpdate(changed);
      listeners.add(listener);
      const end = (): void => {
        if (!listeners.delete(listener) || listeners.size > 0) return;
        if (all.get(key)?.listeners === listeners) all.delete(key);
        finish(watched);
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
      for (const watched of all.values()) {
        finish(watched);
        watched.stop = begin(watched.uri, watched.actor, watched.listeners);
        watched.stop.catch((thrown) => report(GatewayError.from(thrown)));
      }
    },
  };

  async function begin(
    uri: string,
    actor: Actor,
    listeners: ReadonlySet<(uri: string) => void>,
  ): Promise<() => MaybePromise<void>> {
    const onUpdate = (changed: string): void => {
      for (const listener of listeners) listener(changed);
    };
    const present = resources();
    // What has gone with a gateway may be there again in the next.
    return present ? present.watch(uri, { actor, onUpdate }) : () => {};
  }

  function finish({ stop }: Watched): void {
    // What could not be begun need not be ended, and whoever began it was told.
    stop.then(
      (end) => Promise.resolve(end()).catch((thrown) => report(GatewayError.from(thrown))),
      () => {},
    );
  }
}
