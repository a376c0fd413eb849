import * as v from "valibot";
import type { Clock } from "./clock.ts";
import { type PolicyOverride, policyOverride } from "./overrides.ts";
import type { GrantedScopes } from "./scopes.ts";

/** The options of {@link guard}. */
export interface GuardOptions {
  /** Whether it does anything; true by default. */
  readonly enabled?: boolean;
  /** What is asked of operations, by id or pattern of ids; it goes before what is inferred. The last match counts. */
  readonly operations?: Readonly<Record<string, PolicyOverride>>;
  /** Servers whose own word is taken for what their tools do. */
  readonly trusted?: readonly string[];
  /** Scopes that actors have besides those they came with; by default the local user has all of them. */
  readonly scopes?: GrantedScopes;
  /**
   * What counts as a confirmation. `ask`: the person's own answer where their client can ask them, and elsewhere
   * what the caller says. `flag`: what the caller says, and only where it says nothing the person is asked. `token`:
   * the person's answer, or a token that was given out for this very call. `ask` by default.
   */
  readonly confirmation?: "ask" | "flag" | "token";
  /** How long a token can be used; 5 minutes by default. */
  readonly confirmationMs?: number;
  /** How long a completed call is replayed; 24 hours by default. */
  readonly replayMs?: number;
  /** After this long a call that has not ended is taken for lost; 10 minutes by default. */
  readonly deadlineMs?: number;
  /** Larger results are not kept for a replay, only their hash; 256 KB by default. */
  readonly maxResultBytes?: number;
  /** Whether calls of high risk may rely on a memory that goes with the process; false by default. */
  readonly allowVolatile?: boolean;
  /** What happens to a tool that was never seen, and to nothing else where it is `off`; `trust` by default. */
  readonly pin?: "trust" | "ask" | "off";
  /** For tests of what takes a day. */
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
  pin: v.optional(v.picklist(["trust", "ask", "off"]), "trust"),
  clock: v.optional(
    v.custom<Clock>((value) => typeof (value as Clock | null)?.steady === "function", "a clock"),
  ),
}) as v.GenericSchema<GuardOptions, GuardSettings>;
