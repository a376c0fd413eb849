import type { Servers } from "../../core/services/servers.ts";

/** Subscriptions of clients to resources. */
export interface Watches {
  /** Returns a function that ends the watch. Rejects if the server cannot be reached or refuses. */
  add(server: string, uri: string, onUpdate: (uri: string) => void): Promise<() => Promise<void>>;
  /** Notifies the watchers of a resource that has changed. */
  notify(server: string, uri: string): void;
}

type Listeners = Map<string, Set<(uri: string) => void>>;

/** Creates the watches. A server is sent each URI once, however many clients watch it. */
export function createWatches(servers: () => Servers | undefined): Watches {
  const byServer = new Map<string, Listeners>();
  const turns = new Map<string, Promise<void>>();

  /** One request after another: of two at once, the older list could be the last to arrive. */
  const sync = (server: string): Promise<void> => {
    const turn = (turns.get(server) ?? Promise.resolve())
      .catch(() => {})
      .then(() => servers()?.watch(server, [...(byServer.get(server)?.keys() ?? [])].sort()));
    turns.set(server, turn);
    return turn;
  };

  return {
    async add(server, uri, onUpdate) {
      const watched: Listeners = byServer.get(server) ?? new Map();
      byServer.set(server, watched);
      const isNew = !watched.has(uri);
      const listeners = watched.get(uri) ?? new Set();
      watched.set(uri, listeners);
      // A new function: a client may pass the same one twice and end one watch.
      const listener = (changed: string): void => onUpdate(changed);
      listeners.add(listener);
      const end = async (): Promise<void> => {
        if (!listeners.delete(listener) || listeners.size > 0 || watched.get(uri) !== listeners) return;
        watched.delete(uri);
        await sync(server);
      };
      try {
        await (isNew ? sync(server) : turns.get(server));
      } catch (thrown) {
        void end().catch(() => {});
        throw thrown;
      }
      return end;
    },
    notify(server, uri) {
      for (const [watched, listeners] of byServer.get(server) ?? []) {
        if (uri !== watched && !uri.startsWith(watched.endsWith("/") ? watched : `${watched}/`)) continue;
        for (const listener of listeners) listener(uri);
      }
    },
  };
}
