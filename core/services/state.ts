import { defineError, type ErrorKind, GatewayError, type JsonObject, type MaybePromise } from "../mod.ts";

/** Measures time, also if the system clock is changed. */
export interface Clock {
  /** Milliseconds since 1970, by the system clock. */
  wall(): number;
  /** Milliseconds that never decrease, since the moment that `boot` names. */
  steady(): number;
  /** Names the start of this machine or process: steady times of two different ones cannot be compared. */
  readonly boot: string;
}

/** Rate limit: a number of calls in a period. */
export interface RateLimit {
  readonly limit: number;
  readonly perMs: number;
  /** Maximal number at once; the limit by default. */
  readonly burst?: number | undefined;
}

/** A named rate limit. */
export interface RateBucket extends RateLimit {
  readonly name: string;
}

/** Outcome of taking from buckets. */
export interface Taken {
  readonly ok: boolean;
  /** Milliseconds until there is room; 0 if there was. A cost above the burst never finds room. */
  readonly retryAfterMs: number;
  /** The bucket that was full longest. */
  readonly bucket?: string | undefined;
}

/** Counts calls against rate limits. */
export interface RateLimiter {
  /** Takes from all buckets, or from none if one of them has no room. */
  take(buckets: readonly RateBucket[], cost?: number): MaybePromise<Taken>;
}

/** Store that gateways on many machines share: messages to one another, and strings that expire. */
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
  /** Stores a string until it expires. With `at`, returns false and stores nothing if there is a newer string. */
  put(name: string, text: string, ttlMs: number, at?: number): Promise<boolean>;
  /** Returns a stored string. */
  get(name: string): Promise<string | undefined>;
}

export const STATE_UNAVAILABLE: ErrorKind = defineError("STATE_UNAVAILABLE", {
  retry: true,
  description: "The state cannot be read or written now.",
});

export const STATE_DAMAGED: ErrorKind = defineError("STATE_DAMAGED", {
  description:
    "A stored record exists and cannot be read: it is damaged, or another version of toolpipe wrote it.",
});

export const STATE_LOST: ErrorKind = defineError("STATE_LOST", {
  exit: 4,
  description: "What was stored is gone, so calls under an idempotency key may have been made before.",
});

export const STATE_VOLATILE: ErrorKind = defineError("STATE_VOLATILE", {
  spec: "STATE_VOLATILE",
  exit: 4,
  description: "The state is lost when the process ends, which the operation does not allow.",
});

export const STATE_VALUE_INVALID: ErrorKind = defineError("STATE_VALUE_INVALID", {
  description: "A value cannot be stored.",
});

/** Entry of a store. */
export interface StateEntry {
  readonly key: string;
  readonly value: JsonObject;
  /** Changes with every write; no two are ever equal. */
  readonly version: string;
}

/**
 * Stores data that must not be lost and cannot be computed again. Every method is atomic, also between processes: of two
 * that change one key, one is first.
 *
 * A key is any string. The part before its first `/` is its group (`approvals/…`): keys are listed by group.
 * A value is a JSON object; keys in it that reach a prototype are dropped. Failures are `STATE_UNAVAILABLE`.
 */
export interface StateStore {
  /** Whether the content is lost with the process, or with that of the store. Of a store elsewhere it may change. */
  readonly volatile?: boolean | undefined;
  /** Names what the store holds, where all of it may be lost at once; another name means that it was. */
  readonly generation?: string | undefined;
  /** The clock of the store, where those of the machines that share it may differ. */
  readonly clock?: Clock | undefined;
  /** Set if processes on other machines may share the store: whether those still run cannot be known here. */
  readonly shared?: SharedState | undefined;
  /**
   * Returns the entry of a key. Rejects with `STATE_DAMAGED` if there is one that cannot be read: what it said is
   * unknown, so it never counts as missing.
   */
  get(key: string): Promise<StateEntry | undefined>;
  /** Sets a key that is missing; false if it is there, damaged or not. */
  setIfAbsent(key: string, value: JsonObject): Promise<boolean>;
  /** Sets a key, also a damaged one. With `expected`, only if that is its version; false otherwise. */
  replace(key: string, value: JsonObject, expected?: string): Promise<boolean>;
  /** Deletes a key, also a damaged one. With `expected`, only if that is its version. Returns whether it was deleted. */
  delete(key: string, expected?: string): Promise<boolean>;
  /** Returns all readable entries with this prefix, ordered by key. They need not be of one moment. */
  list(prefix: string): Promise<readonly StateEntry[]>;
  /** Returns where the records are that exist and cannot be read, such as the paths of their files. */
  listDamaged?(): Promise<readonly string[]>;
  /** Rejects with `STATE_LOST` if what was stored before is gone, which the user has not acknowledged. */
  checkKept?(): Promise<void>;
  /** Goes on after a loss; false if there was none. */
  acknowledge?(): Promise<boolean>;
  /** Closes connections and files. */
  close(): MaybePromise<void>;
}

/** Opens a state store. */
export type StateStoreDriver = (options: Readonly<JsonObject>) => MaybePromise<StateStore>;

/** More retries mean that something is wrong. */
const MAX_TRIES = 1_000;

/** Reads a key. A damaged record rejects, or gives `whenDamaged` where that is a safe answer. */
export async function readState(
  store: StateStore,
  key: string,
  whenDamaged?: JsonObject,
): Promise<JsonObject | undefined> {
  try {
    return (await store.get(key))?.value;
  } catch (thrown) {
    if (whenDamaged && isDamaged(thrown)) return whenDamaged;
    throw thrown;
  }
}

/**
 * Updates a key with `change`, which is called again if another process changed the key meanwhile. If it returns
 * undefined, the key is left as it is. Returns the value the key then has. A damaged record rejects, or is replaced by
 * the change of `whenDamaged`.
 */
export async function updateState(
  store: StateStore,
  key: string,
  change: (value: JsonObject | undefined) => JsonObject | undefined,
  whenDamaged?: JsonObject,
): Promise<JsonObject | undefined> {
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const entry = await store.get(key).catch((thrown: unknown) => {
      if (whenDamaged && isDamaged(thrown)) return { value: whenDamaged, version: undefined };
      throw thrown;
    });
    const next = change(entry?.value);
    if (next === undefined) return entry?.value;
    const done = entry ? await store.replace(key, next, entry.version) : await store.setIfAbsent(key, next);
    if (done) return next;
  }
  throw createBusyError();
}

/** Returns whether an error says that a record exists and cannot be read. */
export function isDamaged(thrown: unknown): boolean {
  return GatewayError.is(thrown) && thrown.code === STATE_DAMAGED.code;
}

/** Creates the error for a record that exists and cannot be read. */
export function createDamagedError(location: string): GatewayError {
  const message = `The stored record ${location} cannot be read: it is damaged, or another version of toolpipe wrote it. Restore it from a backup, or delete it if what it recorded no longer matters.`;
  return new GatewayError(STATE_DAMAGED, message, { data: { location } });
}

/** Creates the error for a key that other processes change all the time. */
export function createBusyError(): GatewayError {
  return new GatewayError(
    STATE_UNAVAILABLE,
    "The state cannot be changed: other processes change the same key all the time. Try again later.",
  );
}
