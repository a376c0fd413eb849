import type { Client } from "../serve/client.ts";

/** Whoever made a request. */
export interface Owner {
  /** Nobody where a program made it, or the command line. */
  readonly client: Client | undefined;
  /** Whether the request is over. */
  readonly isOver: boolean;
  /** Aborted when it is. */
  readonly over: AbortSignal;
}

/**
 * A server may go on with a request that was given up, and ask what belongs to it. For so long nobody else is taken for
 * the one it asks, unless it answers before.
 */
export const LINGER_MS = 30_000;

/** Makes a request in somebody's name: what its server asks meanwhile, that one is asked, and not any longer. */
export async function owned<T>(client: Owner["client"], run: (owner: Owner) => Promise<T>): Promise<T> {
  const controller = new AbortController();
  const over = controller.signal;
  try {
    return await run({
      client,
      over,
      get isOver() {
        return over.aborted;
      },
    });
  } finally {
    controller.abort();
  }
}
