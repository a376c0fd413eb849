import type { Servers } from "../../core/services/servers.ts";

/** Who wants to hear of changes of which resources. */
export interface Watches {
  /** Returns what ends it. Rejects where the server cannot be asked, or refuses. */
  add(server: string, uri: string, onUpdate: (uri: string) => void): Promise<() => Promise<void>>;
  /** A resource of a server has changed. */
  tell(server: string, uri: string): void;
}

type Listeners = Map<string, Set<(uri: string) => void>>;

/** Makes the watches. A server is told of each URI once, however many watch it. */
export function createWatches(upstreams: () => Servers | undefined): Watches {
  const byServer = new Map<string, Listeners>();
  const turns = new Map<string, Promise<void>>();

  /** One after another: of two at once, the older list could be the last to arrive. */
  const sync = (server: string): Promise<void> => {
    const turn = (turns.get(server) ?? Promise.resolve())
      .catch(() => {})
      .then(() => upstreams()?.watch(server, [...(byServer.get(server)?.keys() ?? [])].sort()));
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
      // One of its own: the same function may watch twice, and end once.
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
    tell(server, uri) {
      for (const [watched, listeners] of byServer.get(server) ?? []) {
        if (uri !== watched && !uri.startsWith(watched.endsWith("/") ? watched : `${watched}/`)) continue;
        for (const listener of listeners) listener(uri);
      }
    },
  };
}
