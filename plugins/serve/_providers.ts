import type { MaybePromise } from "../../core/mod.ts";

/** All those who have something of one kind for clients: resources, say, or prompts. */
export interface Providers<P> {
  /** What all of them have, that of the first provider first. */
  all<T>(ask: (provider: P) => MaybePromise<readonly T[]>): Promise<readonly T[]>;
  /** Asks one after another until one has an answer. */
  first<T>(ask: (provider: P) => MaybePromise<T | undefined>): Promise<T | undefined>;
  some(can: (provider: P) => unknown): boolean;
  /** Calls back whenever what one of them has is another; returns what ends that. */
  onChanged(listener: () => void): () => void;
  add(provider: P): void;
}

/** Makes an empty list of providers. */
export function createProviders<P extends { whenChanged?(changed: () => void): void }>(): Providers<P> {
  const providers: P[] = [];
  const listeners = new Set<() => void>();
  const changed = (): void => {
    for (const listener of listeners) listener();
  };
  return {
    async all(ask) {
      const lists = await Promise.all(providers.map((provider) => ask(provider)));
      return lists.flatMap((list) => [...list]);
    },
    async first(ask) {
      for (const provider of providers) {
        const answer = await ask(provider);
        if (answer) return answer;
      }
    },
    some: (can) => providers.some(can),
    onChanged(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    add(provider) {
      providers.push(provider);
      provider.whenChanged?.(changed);
    },
  };
}
