import type { PooledConnection } from "./connection.ts";

/** The servers whose connections are open. */
export interface OpenServers {
  /** Whether more are open than may stay open. */
  readonly isCrowded: boolean;
  note(server: string, isOpen: boolean): void;
  /** Opens a connection, once those that were not used for longest are closed as far as it needs their place. */
  openWithin<T>(open: () => Promise<T>): Promise<T>;
  /** Closes what is beyond the limit, as far as nothing needs it. */
  trim(): void;
}

/**
 * Limits the connections that stay open, since each may be a process. One that is in use, has a subscription or waits
 * for the answer to a question is never closed: the limit is exceeded for as long as all of them are.
 */
export function createOpenServers(
  max: number,
  findConnection: (server: string) => PooledConnection | undefined,
): OpenServers {
  const open = new Set<string>();
  let opening = 0;

  return {
    get isCrowded() {
      return open.size > max;
    },
    note(server, isOpen) {
      if (isOpen) open.add(server);
      else open.delete(server);
    },
    async openWithin(connect) {
      opening++;
      try {
        await closeLeastUsed(open.size + opening - max);
        return await connect();
      } finally {
        opening--;
      }
    },
    trim() {
      if (open.size > max) void closeLeastUsed(open.size - max);
    },
  };

  async function closeLeastUsed(count: number): Promise<void> {
    if (count <= 0) return;
    const idle = [...open].flatMap((server) => {
      const connection = findConnection(server);
      const since = connection?.idleSince;
      return connection && since !== undefined ? [{ connection, since }] : [];
    });
    const least = idle.sort((a, b) => a.since - b.since).slice(0, count);
    await Promise.all(least.map(({ connection }) => connection.closeIdle()));
  }
}
