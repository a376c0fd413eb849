import type { JsonObject } from "../../core/mod.ts";

/** Where a call carries what its caller says beside the arguments: in the `_meta` of its request. */
export const requestMeta = {
  /** A key under which the call happens once at most. */
  idempotencyKey: "toolpipe/idempotency-key",
  /** True if a person has said yes. */
  confirmed: "toolpipe/confirmed",
  /** What a refusal gave out: it confirms that very call, and once. */
  confirmation: "toolpipe/confirmation",
  /** True if the call is only to be shown, not made. */
  dryRun: "toolpipe/dry-run",
  /** How long it may take, in milliseconds. */
  timeoutMs: "toolpipe/timeout-ms",
} as const;

/** Where a result carries what its upstream knows of the request: in its `_meta`. */
export const resultMeta = {
  /** True if a REST API did not let the request in, so that nothing was done. */
  turnedAway: "toolpipe/turned-away",
} as const;

/** What a request says to the guard. */
export interface GuardRequest {
  /** As it came: it may be anything. */
  readonly key: unknown;
  readonly confirmed: boolean;
  readonly confirmation: string | undefined;
  readonly dryRun: boolean;
}

/** Reads what a request says to the guard. */
export function guardRequest(meta: Readonly<JsonObject>): GuardRequest {
  const confirmation = meta[requestMeta.confirmation];
  return {
    key: meta[requestMeta.idempotencyKey],
    confirmed: meta[requestMeta.confirmed] === true,
    confirmation: typeof confirmation === "string" ? confirmation : undefined,
    dryRun: meta[requestMeta.dryRun] === true,
  };
}
