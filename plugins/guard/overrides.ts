import * as v from "valibot";
import type { Tool } from "../../core/mod.ts";
import { createPolicy, type OperationPolicy, type RiskLevel } from "../../core/services/policy.ts";
import { globMatcher } from "../lib/glob.ts";

/** The policy of operations in a config, with the field names of the specification. */
export interface PolicyOverride {
  readonly risk_level?: RiskLevel | undefined;
  readonly idempotency_required?: boolean | undefined;
  readonly confirmation_required?: boolean | undefined;
  readonly required_scopes?: readonly string[] | undefined;
  readonly rate_limit_bucket?: string | undefined;
  readonly reversible?: boolean | undefined;
  readonly category?: string | undefined;
  /** Whether a call with an unknown outcome may be made again. */
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

/** Applies the config to the inferred policy of a tool. */
export type Override = (tool: Tool, inferred: OperationPolicy) => OperationPolicy;

/** Compiles the patterns of a config; of several that match, the later one counts. */
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
  // Another level or category has other defaults; explicit fields go before them.
  const isOther = said.risk_level !== undefined || said.category !== undefined;
  const base = isOther
    ? createPolicy(said.risk_level ?? inferred.riskLevel, said.category ?? inferred.category)
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
