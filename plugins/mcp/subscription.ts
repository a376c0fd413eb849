import type { Client } from "@modelcontextprotocol/client";
import { backoffDelay, sleep } from "../lib/backoff.ts";
import { isAnswer } from "./errors.ts";

const BACKOFF = { initialDelayMs: 1_000, maxDelayMs: 60_000 };

/**
 * Subscribes to changes of the lists of a modern server; legacy servers report them unasked. The stream may end at any
 * time and is then opened again, until the server refuses or the signal is aborted. `watch` subscribes to changes of
 * resources, in place of those before.
 */
export function keepSubscribed(
  client: Client,
  signal: AbortSignal,
  onMissed: () => void,
): { watch(uris: readonly string[]): Promise<void> } {
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

  /** Rejects if the server refuses. */
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
      if (performance.now() - openedAt > BACKOFF.maxDelayMs) failures = 0;
      await sleep(backoffDelay(failures, BACKOFF), ended, false).catch(() => {});
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
