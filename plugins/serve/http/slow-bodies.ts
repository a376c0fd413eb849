import type { IncomingMessage } from "node:http";

/** Limits the messages of one caller that arrive slowly. */
export interface SlowBodies {
  /** Reads a message of a caller. Its connection is ended where the caller has too many that arrive slowly. */
  read<T>(caller: string, request: IncomingMessage, read: () => Promise<T>): Promise<T>;
}

/** Time within which a message is not slow, however many others the caller sends. */
const GRACE_MS = 1_000;

interface Reading {
  readonly request: IncomingMessage;
  readonly since: number;
}

/** Limits the slow messages of each caller to `most` at once: each of them holds a connection. */
export function createSlowBodies(most: number): SlowBodies {
  const byCaller = new Map<string, Set<Reading>>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  return {
    async read(caller, request, read) {
      const own = byCaller.get(caller) ?? new Set();
      const reading = { request, since: performance.now() };
      byCaller.set(caller, own.add(reading));
      if (own.size > most) checkLater();
      try {
        return await read();
      } finally {
        own.delete(reading);
        if (own.size === 0) byCaller.delete(caller);
      }
    },
  };

  function checkLater(): void {
    timer ??= setTimeout(check, GRACE_MS);
    timer.unref?.();
  }

  function check(): void {
    timer = undefined;
    const slowSince = performance.now() - GRACE_MS;
    for (const own of byCaller.values()) {
      if (own.size <= most) continue;
      const slow = [...own].filter(({ since }) => since <= slowSince);
      for (const { request } of slow.slice(most)) request.destroy();
      checkLater();
    }
  }
}
