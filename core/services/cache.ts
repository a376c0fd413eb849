import type { MaybePromise } from "../hooks.ts";
import type { JsonObject } from "../tool.ts";

/** Caches what can be computed again: in memory first, in a storage below it. Provided by the plugin `cache`. */
export interface Cache {
  /** Age up to which lists of servers and tools are fresh. */
  readonly ttlMs: number;
  /** Returns a value that has not expired: the one in memory first or, with `stored`, the one in the storage. */
  get(key: string, options?: { readonly stored?: boolean }): Promise<unknown>;
  /** Stores a JSON value. Never rejects: a value that cannot be stored is computed again. */
  set(key: string, value: unknown, ttlMs: number): Promise<void>;
  /** Returns bytes that have not expired and are intact. The caller may change them. */
  getBytes(key: string): Promise<Uint8Array | undefined>;
  /** Stores bytes, in the storage alone: they are for the next start. Never rejects. */
  setBytes(key: string, bytes: Uint8Array, ttlMs: number): Promise<void>;
  /** Removes one key, or all of them. */
  clear(key?: string): Promise<void>;
}

/** The part of an unstorage storage that is used. Declared here, so that users need no types of unstorage. */
export interface CacheStorage {
  getItemRaw(key: string): Promise<unknown>;
  /** Storages that can expire entries do so after `ttl` seconds. */
  setItemRaw(key: string, value: unknown, options?: { readonly ttl?: number }): Promise<void>;
  removeItem(key: string): Promise<void>;
  getKeys(): Promise<string[]>;
  dispose?(): Promise<void>;
}

/** The part of an unstorage driver that tells it from a storage. */
export interface StorageDriver {
  hasItem(key: string, options: Readonly<JsonObject>): MaybePromise<boolean>;
  getItem(key: string): unknown;
  getKeys(base: string, options: Readonly<JsonObject>): MaybePromise<string[]>;
}

/** Opens a storage of the cache. The result of `defineDriver` of unstorage is one. */
export type CacheDriver = (options: Readonly<JsonObject>) => MaybePromise<CacheStorage | StorageDriver>;
