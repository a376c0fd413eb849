import * as v from "valibot";
import type { Clock } from "../../core/services/state.ts";
import { option } from "../lib/options.ts";
import { policyOverride } from "./policies.ts";

const ms = v.pipe(v.number(), v.minValue(1, "a number of milliseconds, 1 or more"));

/** Schema of the options. */
export const guardOptions = v.strictObject({
  enabled: option(v.boolean(), "Whether the guard is on.", true),
  operations: option(
    v.record(v.string(), policyOverride),
    "Policies of operations by id or pattern of ids, over the inferred ones. The last match counts.",
    {},
  ),
  trusted: option(v.array(v.string()), "Servers whose annotations are believed.", []),
  scopes: option(
    v.record(v.string(), v.array(v.string())),
    "Additional scopes by actor; `*` as an actor stands for every actor, as a scope for every scope.",
    { local: ["*"] },
  ),
  confirmation: option(
    v.picklist(["ask", "flag", "token"]),
    "Accepted confirmations. `ask`: the user's answer if the client can ask, else `confirmed: true` of the caller. `flag`: `confirmed: true`; without it, the user is asked. `token`: the user's answer, or a token issued for this call.",
    "ask",
  ),
  confirmationMs: option(ms, "Milliseconds for which a confirmation token is valid.", 300_000),
  replayMs: option(ms, "Milliseconds for which a completed call is replayed.", 86_400_000),
  deadlineMs: option(ms, "Milliseconds after which a call without an outcome counts as lost.", 600_000),
  maxResultBytes: option(
    v.pipe(v.number(), v.minValue(0, "a number of bytes, 0 or more")),
    "Bytes of the largest result that is stored for a replay; of a larger one only its hash is.",
    262_144,
  ),
  allowVolatile: option(
    v.boolean(),
    "Whether high-risk calls may rely on state that is lost with the process.",
    false,
  ),
  clock: option(
    v.custom<Clock>((value) => typeof (value as Clock | null)?.steady === "function", "a clock"),
    "Clock for tests.",
  ),
});

/** Options for the guard plugin. */
export type GuardOptions = v.InferInput<typeof guardOptions>;

/** Options with their defaults. */
export type GuardSettings = v.InferOutput<typeof guardOptions>;
