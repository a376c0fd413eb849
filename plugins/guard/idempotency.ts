import { randomUUID } from "node:crypto";
import * as v from "valibot";
import type { JsonObject } from "../../core/mod.ts";
import { createBusyError, isDamaged, type StateEntry, type StateStore } from "../../core/services/state.ts";
import { getProcessIdentity, hasEnded, type ProcessIdentity } from "../lib/process-identity.ts";
import { type Clock, now, since } from "./clock.ts";
import { isKeptOutcome, type KeptOutcome } from "./outcome.ts";

/** The arguments of {@link Idempotency.begin}. */
export interface Beginning {
  /** Identifies the call: a hash of actor and client key. */
  readonly key: string;
  /** A hash of the tool, its definition and the arguments. */
  readonly fingerprint: string;
  /** Time after which a call without an outcome counts as lost. */
  readonly deadlineMs: number;
  /** Whether a call with an unknown outcome may be made again. */
  readonly retrySafe?: boolean | undefined;
}

/** Whether a call may be made, or how the earlier one under its key ended. */
export type Begun =
  /** The call may be made; ending it takes the fence. */
  | { readonly state: "begun"; readonly fence: string }
  | { readonly state: "completed"; readonly outcome: KeptOutcome }
  | { readonly state: "in progress" | "unknown" | "damaged" | "mismatch" };

/**
 * Stores calls by key, so that each is made at most once.
 *
 *     absent      --begin--> in progress
 *     in progress --complete--> completed, which is replayed for a day
 *     in progress --release--> absent, where nothing was sent
 *     in progress --its time is up, or its process of this machine is gone--> unknown, which is never made again by itself
 *     unknown     --complete with the same fence--> completed
 */
export interface Idempotency {
  /** Begins a call. Of several at once under one key, in this process or another, one begins. Durable once resolved. */
  begin(beginning: Beginning): Promise<Begun>;
  /** Stores the outcome of a call; false if the fence is no longer valid. */
  complete(key: string, fence: string, outcome: KeptOutcome): Promise<boolean>;
  /** Frees the key of a call that was not sent. */
  release(key: string, fence: string): Promise<boolean>;
  /** Stores that the outcome of a call is unknown. */
  lose(key: string, fence: string): Promise<boolean>;
  /** Deletes outcomes that are no longer replayed. */
  sweep(): Promise<void>;
}

interface IdempotencyOptions {
  readonly clock: Clock;
  /** Time for which a completed call is replayed; 24 hours by default. */
  readonly keepMs?: number | undefined;
  /** The process that makes the calls; this one by default. */
  readonly owner?: ProcessIdentity | undefined;
}

const GROUP = "idempotency/";
const DAY_MS = 86_400_000;
const MAX_TRIES = 1_000;

const moment = v.object({ wall: v.number(), steady: v.number(), boot: v.string() });
const kept = v.object({
  state: v.picklist(["in progress", "unknown", "completed"]),
  fence: v.string(),
  fingerprint: v.string(),
  owner: v.object({ pid: v.number(), started: v.string(), boot: v.string(), space: v.string() }),
  at: moment,
  deadlineMs: v.number(),
  outcome: v.optional(v.custom<KeptOutcome>(isKeptOutcome)),
});
type Kept = v.InferOutput<typeof kept>;

/** Keeps the state of calls in a store. */
export function createIdempotency(store: StateStore, options: IdempotencyOptions): Idempotency {
  const { clock, keepMs = DAY_MS, owner = getProcessIdentity() } = options;

  return {
    async begin({ key, fingerprint, deadlineMs, retrySafe = false }) {
      const place = GROUP + key;
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const fence = randomUUID();
        // The clock of a shared store is known only after its first answer.
        const entry = await getEntry(place);
        // The record of a call that may have been made.
        if (entry === "damaged") return { state: "damaged" };
        const mine = toJson({ state: "in progress", fence, fingerprint, owner, at: now(clock), deadlineMs });
        if (!entry) {
          if (await store.setIfAbsent(place, mine)) return { state: "begun", fence };
          continue;
        }
        const found = read(entry.value);
        const takeOver = async (): Promise<Begun | undefined> =>
          (await store.replace(place, mine, entry.version)) ? { state: "begun", fence } : undefined;
        let begun: Begun | undefined;
        // A record that cannot be parsed was written by another version: the call may have been made.
        if (!found) begun = { state: "unknown" };
        else if (isOver(found)) begun = await takeOver();
        else if (found.fingerprint !== fingerprint) begun = { state: "mismatch" };
        else if (found.state === "completed")
          begun = { state: "completed", outcome: found.outcome as KeptOutcome };
        else if (found.state === "in progress" && !isLost(found)) begun = { state: "in progress" };
        else if (retrySafe) begun = await takeOver();
        else begun = await markLost(place, found, entry.version);
        if (begun) return begun;
      }
      throw createBusyError();
    },
    complete: (key, fence, outcome) =>
      change(key, fence, (found) => ({ ...found, state: "completed", outcome, at: now(clock) })),
    lose: (key, fence) => change(key, fence, (found) => ({ ...found, state: "unknown" })),
    release: (key, fence) => change(key, fence, () => undefined),
    async sweep() {
      for (const { key, value, version } of await store.list(GROUP)) {
        const found = read(value);
        if (found && isOver(found)) await store.delete(key, version);
      }
    },
  };

  async function getEntry(place: string): Promise<StateEntry | undefined | "damaged"> {
    try {
      return await store.get(place);
    } catch (thrown) {
      if (isDamaged(thrown)) return "damaged";
      throw thrown;
    }
  }

  /** Whether a completed call is no longer replayed. No other state ever expires: the call may have been made. */
  function isOver({ state, at }: Kept): boolean {
    return state === "completed" && since(clock, at) >= keepMs;
  }

  function isLost(found: Kept): boolean {
    if (since(clock, found.at) >= found.deadlineMs) return true;
    // A process of another machine cannot be checked from here: it would always look gone.
    return store.shared === undefined && hasEnded(found.owner, owner);
  }

  async function markLost(place: string, found: Kept, version: string): Promise<Begun | undefined> {
    if (found.state === "unknown") return { state: "unknown" };
    const done = await store.replace(place, toJson({ ...found, state: "unknown" }), version);
    return done ? { state: "unknown" } : undefined;
  }

  async function change(
    key: string,
    fence: string,
    make: (found: Kept) => Kept | undefined,
  ): Promise<boolean> {
    const place = GROUP + key;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const entry = await store.get(place);
      const found = read(entry?.value);
      if (!entry || !found || found.fence !== fence || found.state === "completed") return false;
      const next = make(found);
      const done = next
        ? await store.replace(place, toJson(next), entry.version)
        : await store.delete(place, entry.version);
      if (done) return true;
    }
    throw createBusyError();
  }
}

function read(value: JsonObject | undefined): Kept | undefined {
  const { success, output } = v.safeParse(kept, value);
  return success && (output.state !== "completed" || output.outcome) ? output : undefined;
}

function toJson(record: Kept): JsonObject {
  return record as unknown as JsonObject;
}

/** Returns whether a value is an idempotency key: 8 to 255 visible ASCII characters. */
export function isClientKey(key: unknown): key is string {
  return typeof key === "string" && /^[\x21-\x7e]{8,255}$/.test(key);
}
