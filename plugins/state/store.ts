import {
  defineError,
  type ErrorKind,
  GatewayError,
  type JsonObject,
  type MaybePromise,
} from "../../core/mod.ts";
import type { Clock } from "../guard/clock.ts";
import type { RateLimiter } from "../guard/rate.ts";
import type { Commons } from "./commons.ts";

/** The state cannot be read or written now. */
export const STATE_UNAVAILABLE: ErrorKind = defineError("STATE_UNAVAILABLE", { retry: true });

/** A value is not what state can hold. */
export const STATE_VALUE_INVALID: ErrorKind = defineError("STATE_VALUE_INVALID");

/** What a store holds of one key. */
export interface StateEntry {
  readonly key: string;
  readonly value: JsonObject;
  /** Another one after every change; no two are ever the same. */
  readonly version: string;
}

/**
 * Keeps what must not be lost and cannot be made again. Each of these steps happens wholly or not at all,
 * and of those that meet on one key, in this process or another, one is first.
 *
 * A key is any text. What stands before its first `/` is its group (`approvals/…`): keys are listed by group.
 * A value is a JSON object; keys in it that reach a prototype are dropped. Failures are `STATE_UNAVAILABLE`.
 */
export interface StateStore {
  /** True if what is kept is gone with the process. */
  readonly volatile?: boolean | undefined;
  /** True if processes on other machines may share it, of which nobody here can tell whether they still run. */
  readonly manyMachines?: boolean | undefined;
  /** Tells the time for everybody who shares the store, where the clocks of their machines may differ. */
  readonly clock?: Clock | undefined;
  /** What else everybody has who shares the store, where there may be many. */
  readonly commons?: Commons | undefined;
  /** Counts for everybody who shares the store, where it can do so in one step. */
  readonly limiter?: RateLimiter | undefined;
  /** What there is of a key. What is damaged, or of another format, is not there. */
  get(key: string): Promise<StateEntry | undefined>;
  /** Sets a key that is not there; false if it is. */
  setIfAbsent(key: string, value: JsonObject): Promise<boolean>;
  /** Sets a key: whatever is there or, if a version is expected, only in place of that one; false if it is another. */
  replace(key: string, value: JsonObject, expected?: string): Promise<boolean>;
  /** Removes a key: whatever is there or, if a version is expected, only that one; false if nothing was removed. */
  delete(key: string, expected?: string): Promise<boolean>;
  /** All entries whose key begins so, in the order of their keys. Each is right, but they need not be of one moment. */
  list(prefix: string): Promise<readonly StateEntry[]>;
  /** Lets go of what the store holds open. */
  close(): MaybePromise<void>;
}

/** As many as may get in between before something must be wrong. */
const MAX_TRIES = 1_000;

/**
 * Changes a key to what `change` makes of its value, however many others change it at the same time; `change`
 * is called again if one of them was first. If it returns undefined, the key is left as it is. Returns what
 * the key then holds.
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

/** The error of a key that others change all the time. */
export function tooBusy(): GatewayError {
  return new GatewayError(
    STATE_UNAVAILABLE,
    "The state cannot be changed: others change the same part of it all the time.",
  );
}
