import type { CacheStorage } from "../cache/cache.ts";

/** What all gateways that share a store have in common besides what it keeps: word of each other, and what passes. */
export interface Commons {
  /** Tells everybody who listens, this process too. Nobody hears it later. */
  tell(topic: string, message: string): Promise<void>;
  /**
   * Hears what is told. `onReturn` is called whenever nobody knows what was told meanwhile: after the connection was
   * lost. Returns what ends it.
   */
  listen(topic: string, hear: (message: string) => void, onReturn?: () => void): () => void;
  /** Keeps a text under a name until its time is up. */
  hold(name: string, text: string, ttlMs: number): Promise<void>;
  /** The same, unless something newer is kept there; false then. */
  holdNewest(name: string, text: string, at: number, ttlMs: number): Promise<boolean>;
  /** What is kept under a name. */
  held(name: string): Promise<string | undefined>;
  /** Where what can be made again is kept for everybody. To be disposed of by whoever asked for it. */
  storage(): Promise<CacheStorage & { dispose(): Promise<void> }>;
}
