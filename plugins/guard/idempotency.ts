import { randomUUID } from "node:crypto";
import * as v from "valibot";
import type { JsonObject } from "../../core/mod.ts";
import { type StateStore, tooBusy } from "../state/store.ts";
import { type Clock, now, since } from "./clock.ts";
import { isKeptOutcome, type KeptOutcome } from "./outcome.ts";
import { isGone, type Owner, thisProcess } from "./owner.ts";

/** What a call begins with. */
export interface Beginning {
  /** Names the call among all of them: a hash. */
  readonly key: string;
  /** What the call is: a hash of the tool, its definition and the arguments. */
  readonly fingerprint: string;
  /** After this long nobody expects it to end any more. */
  readonly deadlineMs: number;
  /** Whether it may be made again where nobody knows how it went. */
  readonly retrySafe?: boolean | undefined;
}

/** How a call may go on. */
export type Begun =
  /** It is ours to make; whoever ends it shows the fence. */
  | { readonly state: "begun"; readonly fence: string }
  | { readonly state: "completed"; readonly outcome: KeptOutcome }
  | { readonly state: "in progress" | "unknown" | "mismatch" };

/**
 * Remembers calls, so that each is made once at most.
 *
 *     absent      --begin--> in progress
 *     in progress --complete--> completed, which is replayed for a day
 *     in progress --release--> absent, where nothing was sent
 *     in progress --its time is up, or its process of this machine is gone--> unknown, which is never made again by itself
 *     unknown     --complete with the same fence--> completed
 */
export interface Idempotency {
  /** Of all that begin a key at the same time, in this process or another, one does. It is safe once this resolves. */
  begin(beginning: Beginning): Promise<Begun>;
  /** Says how a call ended; false where it is no longer ours to say. */
  complete(key: string, fence: string, outcome: KeptOutcome): Promise<boolean>;
  /** Says that nothing was sent: the key is as if it had never been used. */
  release(key: string, fence: string): Promise<boolean>;
  /** Says that nobody knows how the call ended. */
  lose(key: string, fence: string): Promise<boolean>;
  /** Removes what is no longer replayed. */
  sweep(): Promise<void>;
}

/** What an {@link Idempotency} is made with. */
export interface IdempotencyOptions {
  readonly clock: Clock;
  /** How long a completed call is replayed; 24 hours by default. */
  readonly keepMs?: number | undefined;
  /** Who makes the calls; this process by default. */
  readonly owner?: Owner | undefined;
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

/** Remembers calls in a store. */
export function idempotencyIn(store: StateStore, options: IdempotencyOptions): Idempotency {
  const { clock, keepMs = DAY_MS, owner = thisProcess() } = options;

  return {
    async begin({ key, fingerprint, deadlineMs, retrySafe = false }) {
      const place = GROUP + key;
      for (let tries = 0; tries < MAX_TRIES; tries++) {
        const fence = randomUUID();
        // The clock of a store may be known only once it has answered.
        const entry = await store.get(place);
        const mine = asJson({ state: "in progress", fence, fingerprint, owner, at: now(clock), deadlineMs });
        if (!entry) {
          if (await store.setIfAbsent(place, mine)) return { state: "begun", fence };
          continue;
        }
        const found = read(entry.value);
        const takeOver = async (): Promise<Begun | undefined> =>
          (await store.replace(place, mine, entry.version)) ? { state: "begun", fence } : undefined;
        let begun: Begun | undefined;
        // What cannot be understood was written by another version of us: it may have been done.
        if (!found) begun = { state: "unknown" };
        else if (isOver(found)) begun = await takeOver();
        else if (found.fingerprint !== fingerprint) begun = { state: "mismatch" };
        else if (found.state === "completed")
          begun = { state: "completed", outcome: found.outcome as KeptOutcome };
        else if (found.state === "in progress" && !isLost(found)) begun = { state: "in progress" };
        else if (retrySafe) begun = await takeOver();
        else begun = await lost(place, found, entry.version);
        if (begun) return begun;
      }
      throw tooBusy();
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

  /** Whether it was completed, and is no longer replayed. Nothing else is ever over: it may have been done. */
  function isOver({ state, at }: Kept): boolean {
    return state === "completed" && since(clock, at) >= keepMs;
  }

  function isLost(found: Kept): boolean {
    if (since(clock, found.at) >= found.deadlineMs) return true;
    // Nothing here can tell whether a process of another machine still runs: it would always look gone.
    return store.manyMachines !== true && isGone(found.owner, owner);
  }

  async function lost(place: string, found: Kept, version: string): Promise<Begun | undefined> {
    if (found.state === "unknown") return { state: "unknown" };
    const done = await store.replace(place, asJson({ ...found, state: "unknown" }), version);
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
        ? await store.replace(place, asJson(next), entry.version)
        : await store.delete(place, entry.version);
      if (done) return true;
    }
    throw tooBusy();
  }
}

function read(value: JsonObject | undefined): Kept | undefined {
  const { success, output } = v.safeParse(kept, value);
  return success && (output.state !== "completed" || output.outcome) ? output : undefined;
}

function asJson(record: Kept): JsonObject {
  return record as unknown as JsonObject;
}

/** What a client may use as a key: 8 to 255 visible ASCII characters. */
export function isClientKey(key: unknown): key is string {
  return typeof key === "string" && /^[\x21-\x7e]{8,255}$/.test(key);
}
