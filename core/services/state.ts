import { defineError, type ErrorKind, GatewayError, type JsonObject, type MaybePromise } from "../mod.ts";

/** Tells how much time has passed, even where somebody sets the clock. */
export interface Clock {
  /** Milliseconds since 1970, as the clock shows them. */
  wall(): number;
  /** Milliseconds that only ever grow, since the moment that `boot` names. */
  steady(): number;
  /** Names the start of this machine or process: steady times of two different ones cannot be compared. */
  readonly boot: string;
}

/** So much in so long, with so much of it at once. */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
  /** How much may come at once; as much as the limit by default. */
  readonly burst?: number | undefined;
}

/** One thing that is limited. */
export interface RateBucket extends RateLimit {
  readonly name: string;
}

/** Whether there was room in all buckets. */
export interface Taken {
  readonly ok: boolean;
  /** How long it is until there is room; 0 where there was. Never comes true for more than a whole burst. */
  readonly retryAfterMs: number;
  /** The bucket that was full longest. */
  readonly bucket?: string | undefined;
}

/** Counts what was taken from buckets. */
export interface RateLimiter {
  /** Takes from all buckets, or from none where one of them has no room. */
  take(buckets: readonly RateBucket[], cost?: number): MaybePromise<Taken>;
}

/** Store that gateways on many machines share: messages to one another, and texts that expire. */
export interface SharedState {
  /** Address of the store, for drivers that open a connection of their own; it may hold a password. */
  readonly address: string;
  /** Counts for all gateways, where the store can do so in one step. */
  readonly limiter?: RateLimiter | undefined;
  /** Sends a message to all subscribers, this process included. It is not stored. */
  publish(topic: string, message: string): Promise<void>;
  /**
   * Calls `onMessage` for every message. `onReconnect` is called after the connection was lost, when messages may have
   * been missed. Returns a function that ends the subscription.
   */
  subscribe(topic: string, onMessage: (message: string) => void, onReconnect?: () => void): () => void;
  /** Stores a text until its time is up. With `at`, returns false and stores nothing if a newer text is there. */
  put(name: string, text: string, ttlMs: number, at?: number): Promise<boolean>;
  /** Returns a stored text. */
  get(name: string): Promise<string | undefined>;
}

/** The state cannot be read or written now. */
export const STATE_UNAVAILABLE: ErrorKind = defineError("STATE_UNAVAILABLE", { retry: true });

/** A value is not what state can hold. */
export const STATE_VALUE_INVALID: ErrorKind = defineError("STATE_VALUE_INVALID");

/** Entry of a store. */
export interface StateEntry {
  readonly key: string;
  readonly value: JsonObject;
  /** Changes with every write; no two are ever equal. */
  readonly version: string;
}

/**
 * Stores what must not be lost and cannot be computed again. Every method is atomic, also between processes: of two that
 * change one key, one is first.
 *
 * A key is any string. The part before its first `/` is its group (`approvals/…`): keys are listed by group.
 * A value is a JSON object; keys in it that reach a prototype are dropped. Failures are `STATE_UNAVAILABLE`.
 */
export interface StateStore {
  /** Whether the content is lost with the process. */
  readonly volatile?: boolean | undefined;
  /** The clock of the store, where those of the machines that share it may differ. */
  readonly clock?: Clock | undefined;
  /** Set if processes on other machines may share the store: whether those still run cannot be known here. */
  readonly shared?: SharedState | undefined;
  /** Returns the entry of a key. A damaged one, or one of another format, counts as missing. */
  get(key: string): Promise<StateEntry | undefined>;
  /** Sets a key that is missing; false if it is there. */
  setIfAbsent(key: string, value: JsonObject): Promise<boolean>;
  /** Sets a key. With `expected`, only if that is its version; false otherwise. */
  replace(key: string, value: JsonObject, expected?: string): Promise<boolean>;
  /** Deletes a key. With `expected`, only if that is its version. Returns whether it was deleted. */
  delete(key: string, expected?: string): Promise<boolean>;
  /** Returns all entries with this prefix, ordered by key. They need not be of one moment. */
  list(prefix: string): Promise<readonly StateEntry[]>;
  /** Closes connections and files. */
  close(): MaybePromise<void>;
}

/** Opens a state store. */
export type StateStoreDriver = (options: Readonly<JsonObject>) => MaybePromise<StateStore>;

/** More retries mean that something is wrong. */
const MAX_TRIES = 1_000;

/**
 * Updates a key with `change`, which is called again if another process changed the key meanwhile. If it returns
 * undefined, the key is left as it is. Returns the value the key then has.
 */
export async function updateState(
  store: StateStore,
  key: string,
  change: (value: JsonObject | undefined) => JsonObject | undefined,
): Promise<JsonObject | undefined> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const entry = await store.get(key);
    const next = change(entry?.value);
    if (next === undefined) return entry?.value;
    const done = entry ? await store.replace(key, next, entry.version) : await store.setIfAbsent(key, next);
    if (done) return next;
  }
  throw tooBusy();
}

/** Creates the error for a key that other processes change all the time. */
export function tooBusy(): GatewayError {
  return new GatewayError(
    STATE_UNAVAILABLE,
    "The state cannot be changed: others change the same part of it all the time.",
  );
}
