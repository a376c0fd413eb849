import * as v from "valibot";
import type { Tool } from "../../core/mod.ts";
import { globMatcher } from "../rules/glob.ts";
import { type OperationPolicy, policyFor, type RiskLevel } from "./policy.ts";

/** What a config says of some operations, in the words of the specification. */
export interface PolicyOverride {
  readonly risk_level?: RiskLevel | undefined;
  readonly idempotency_required?: boolean | undefined;
  readonly confirmation_required?: boolean | undefined;
  readonly required_scopes?: readonly string[] | undefined;
  readonly rate_limit_bucket?: string | undefined;
  readonly reversible?: boolean | undefined;
  readonly category?: string | undefined;
  /** Whether a call may be made again after one of which nobody knows whether it was done. */
  readonly retry_safe?: boolean | undefined;
}

/** Checks a {@link PolicyOverride}. */
export const policyOverride: v.GenericSchema<PolicyOverride> = v.strictObject({
  risk_level: v.optional(v.picklist(["low", "medium", "high", "destructive"])),
  idempotency_required: v.optional(v.boolean()),
  confirmation_required: v.optional(v.boolean()),
  required_scopes: v.optional(v.array(v.string())),
  rate_limit_bucket: v.optional(v.string()),
  reversible: v.optional(v.boolean()),
  category: v.optional(v.string()),
  retry_safe: v.optional(v.boolean()),
});

/** Says what a config makes of the policy of a tool. */
export type Override = (tool: Tool, inferred: OperationPolicy) => OperationPolicy;

/** Compiles what a config says by pattern; where several patterns match, the later one has the last word. */
export function createOverride(operations: Readonly<Record<string, PolicyOverride>>): Override {
  const entries = Object.entries(operations).map(([pattern, given]) => ({
    matches: globMatcher(pattern),
    given,
  }));
  return (tool, inferred) => {
    const said = Object.assign(
      {},
      ...entries.filter(({ matches }) => matches(tool.id)).map(({ given }) => given),
    );
    return applied(said as PolicyOverride, inferred);
  };
}

function applied(said: PolicyOverride, inferred: OperationPolicy): OperationPolicy {
  // Another level, or another category, asks for other things; what is said of these goes before.
  const isOther = said.risk_level !== undefined || said.category !== undefined;
  const base = isOther
    ? policyFor(said.risk_level ?? inferred.riskLevel, said.category ?? inferred.category)
    : inferred;
  return Object.freeze({
    ...base,
    idempotencyRequired: said.idempotency_required ?? base.idempotencyRequired,
    confirmationRequired: said.confirmation_required ?? base.confirmationRequired,
    requiredScopes: Object.freeze([...(said.required_scopes ?? base.requiredScopes)]),
    rateLimitBucket: said.rate_limit_bucket ?? base.rateLimitBucket,
    reversible: said.reversible ?? base.reversible,
    retrySafe: said.retry_safe ?? false,
  });
}
