import type { Upstream } from "../../core/services/servers.ts";

/** Access of the subscriptions to the connection that they belong to. */
interface SubscriptionOptions {
  /** Opens the connection if it is not open. */
  readonly connect: () => Promise<unknown>;
  /** Time before the connection is opened again. */
  readonly retryDelayMs: () => number;
  /** Called for every subscribed resource that may have changed while the connection was down. */
  readonly onMissed: (uri: string) => void;
}

/** Resource subscriptions of one server, kept over all connections to it. */
interface ResourceSubscriptions {
  /** Whether any resource is subscribed to. */
  readonly isNeeded: boolean;
  /** Replaces the subscribed resources. */
  set(uris: readonly string[]): void;
  /** Subscribes over an open connection. Rejects if the server refuses. */
  apply(upstream: Upstream): Promise<void>;
  /** Reconnects after a lost connection: no call may come that would do so. */
  lost(): void;
  end(): void;
}

/** Creates the subscriptions of a connection. */
export function createSubscriptions(options: SubscriptionOptions): ResourceSubscriptions {
  let subscribed: readonly string[] = [];
  let wasLost = false;
  let ended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const reconnect = (): void => {
    clearTimeout(timer);
    if (ended || subscribed.length === 0) return;
    timer = setTimeout(() => void options.connect().catch(reconnect), options.retryDelayMs());
    timer.unref?.();
  };

  return {
    get isNeeded() {
      return subscribed.length > 0;
    },
    set(uris) {
      subscribed = uris;
    },
    async apply(upstream) {
      clearTimeout(timer);
      const missed = wasLost ? subscribed : [];
      wasLost = false;
      await upstream.watch?.(subscribed);
      for (const uri of missed) options.onMissed(uri);
    },
    lost() {
      wasLost = subscribed.length > 0;
      reconnect();
    },
    end() {
      ended = true;
      clearTimeout(timer);
    },
  };
}
