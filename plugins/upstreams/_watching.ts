import type { Upstream } from "./upstream.ts";

/** What keeps resources watched needs to know of the link that it belongs to. */
export interface WatchingParts {
  /** Opens the connection where it is not open. */
  readonly connect: () => Promise<unknown>;
  /** How long to wait before it is opened again. */
  readonly waitMs: () => number;
  /** Something may have changed while nobody was told. */
  readonly onMissed: (uri: string) => void;
}

/** The resources of one server that somebody wants to hear of, over whatever connection there is. */
export interface Watching {
  readonly isNeeded: boolean;
  /** From now on these, and no others. */
  want(uris: readonly string[]): void;
  /** A connection is there. Rejects where its server refuses. */
  use(upstream: Upstream): Promise<void>;
  /** The connection has broken; it is opened again, since nobody else might. */
  lost(): void;
  end(): void;
}

/** Makes the watching of a link. */
export function createWatching({ connect, waitMs, onMissed }: WatchingParts): Watching {
  let wanted: readonly string[] = [];
  let wasLost = false;
  let ended = false;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const again = (): void => {
    clearTimeout(timer);
    if (ended || wanted.length === 0) return;
    timer = setTimeout(() => void connect().catch(again), waitMs());
    timer.unref?.();
  };

  return {
    get isNeeded() {
      return wanted.length > 0;
    },
    want(uris) {
      wanted = uris;
    },
    async use(upstream) {
      clearTimeout(timer);
      const missed = wasLost ? wanted : [];
      wasLost = false;
      await upstream.watch?.(wanted);
      for (const uri of missed) onMissed(uri);
    },
    lost() {
      wasLost = wanted.length > 0;
      again();
    },
    end() {
      ended = true;
      clearTimeout(timer);
    },
  };
}
