import type { Client } from "@modelcontextprotocol/client";
import { isAnswer } from "./errors.ts";

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 60_000;

/** The subscription of a connection of the modern protocol. */
export interface KeptSubscription {
  /** Subscribes to changes of these resources, in place of those before. */
  watch(uris: readonly string[]): Promise<void>;
}

/**
 * Subscribes to changes of the lists of a modern server; legacy servers report them unasked. The stream may end at any
 * time and is then opened again, until the server refuses or the signal is aborted.
 */
export function keepSubscribed(client: Client, signal: AbortSignal, onMissed: () => void): KeptSubscription {
  const capabilities = client.getServerCapabilities();
  const lists = {
    ...(capabilities?.tools?.listChanged ? { toolsListChanged: true } : {}),
    ...(capabilities?.prompts?.listChanged ? { promptsListChanged: true } : {}),
    ...(capabilities?.resources?.listChanged ? { resourcesListChanged: true } : {}),
  };
  let own = new AbortController();
  if (client.getProtocolEra() === "modern") void keep(lists, own.signal, () => {}).catch(() => {});

  return {
    watch(uris) {
      const before = own;
      own = new AbortController();
      const filter = uris.length > 0 ? { ...lists, resourceSubscriptions: [...uris] } : lists;
      return new Promise((resolve, reject) => {
        // The old stream ends only now, so that no change is missed between the two.
        const done = (): void => {
          before.abort();
          resolve();
        };
        keep(filter, own.signal, done).then(done, reject);
      });
    },
  };

  /** Rejects where the server refuses. */
  async function keep(filter: object, mine: AbortSignal, onOpen: () => void): Promise<void> {
    if (Object.keys(filter).length === 0) return;
    const ended = AbortSignal.any([signal, mine]);
    for (let failures = 0; !ended.aborted; failures++) {
      const openedAt = performance.now();
      try {
        const subscription = await client.listen(filter, { signal: ended });
        if (failures > 0) onMissed();
        onOpen();
        await subscription.closed;
      } catch (thrown) {
        if (isAnswer(thrown)) throw thrown;
      }
      if (performance.now() - openedAt > LONGEST_WAIT_MS) failures = 0;
      await pause(Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures), ended);
    }
  }
}

/** Subscribes to each of these resources of a legacy server, and no longer to those before. */
export async function watchEach(
  uris: readonly string[],
  watched: Set<string>,
  send: (method: "resources/subscribe" | "resources/unsubscribe", uri: string) => Promise<unknown>,
): Promise<void> {
  const wanted = new Set(uris);
  for (const uri of [...watched].filter((one) => !wanted.has(one))) {
    watched.delete(uri);
    // A failure only means updates that are ignored.
    await send("resources/unsubscribe", uri).catch(() => {});
  }
  for (const uri of wanted) {
    if (watched.has(uri)) continue;
    await send("resources/subscribe", uri);
    watched.add(uri);
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    timer.unref?.();
    signal.addEventListener("abort", done);
  });
}
