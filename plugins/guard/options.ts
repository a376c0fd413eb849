import * as v from "valibot";
import type { Clock } from "../lib/clock.ts";
import { type PolicyOverride, policyOverride } from "./overrides.ts";
import type { GrantedScopes } from "./scopes.ts";

/** Options of {@link guard}. */
export interface GuardOptions {
  /** Whether the guard is on; true by default. */
  readonly enabled?: boolean;
  /** Policies of operations by id or pattern of ids, over the inferred ones. The last match counts. */
  readonly operations?: Readonly<Record<string, PolicyOverride>>;
  /** Servers whose annotations are believed. */
  readonly trusted?: readonly string[];
  /** Additional scopes by actor; by default the local user has all. */
  readonly scopes?: GrantedScopes;
  /**
   * Accepted confirmations. `ask`: the user's answer if the client can ask, else the caller's flag. `flag`: the
   * caller's flag; without one, the user is asked. `token`: the user's answer, or a token issued for this call. `ask`
   * by default.
   */
  readonly confirmation?: "ask" | "flag" | "token";
  /** How long a confirmation token is valid; 5 minutes by default. */
  readonly confirmationMs?: number;
  /** How long a completed call is replayed; 24 hours by default. */
  readonly replayMs?: number;
  /** After this long, a call without an outcome counts as lost; 10 minutes by default. */
  readonly deadlineMs?: number;
  /** Larger results are not kept for a replay, only their hash; 256 KB by default. */
  readonly maxResultBytes?: number;
  /** Whether high-risk calls may rely on state that is lost with the process; false by default. */
  readonly allowVolatile?: boolean;
  /** A clock for tests. */
  readonly clock?: Clock;
}

/** The options with their defaults. */
export type GuardSettings = GuardOptions & Required<Omit<GuardOptions, "clock">>;

const ms = v.pipe(v.number(), v.minValue(1, "a number of milliseconds, 1 or more"));

/** Checks the options. */
export const guardOptions: v.GenericSchema<GuardOptions, GuardSettings> = v.strictObject({
  enabled: v.optional(v.boolean(), true),
  operations: v.optional(v.record(v.string(), policyOverride), {}),
  trusted: v.optional(v.array(v.string()), []),
  scopes: v.optional(v.record(v.string(), v.array(v.string())), { local: ["*"] }),
  confirmation: v.optional(v.picklist(["ask", "flag", "token"]), "ask"),
  confirmationMs: v.optional(ms, 300_000),
  replayMs: v.optional(ms, 86_400_000),
  deadlineMs: v.optional(ms, 600_000),
  maxResultBytes: v.optional(v.pipe(v.number(), v.minValue(0, "a number of bytes, 0 or more")), 262_144),
  allowVolatile: v.optional(v.boolean(), false),
  clock: v.optional(
    v.custom<Clock>((value) => typeof (value as Clock | null)?.steady === "function", "a clock"),
  ),
}) as v.GenericSchema<GuardOptions, GuardSettings>;
