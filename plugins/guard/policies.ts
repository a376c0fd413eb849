import * as v from "valibot";
import type { Gateway, Tool } from "../../core/mod.ts";
import { createPolicy, type OperationPolicy, riskLevels } from "../../core/services/policy.ts";
import { compileGlob } from "../lib/glob.ts";
import { option } from "../lib/options.ts";
import { inferPolicy } from "../lib/risk.ts";

/** Schema of the policy of operations in a config, with the field names of the specification. */
export const policyOverride = v.strictObject({
  risk_level: option(v.picklist(riskLevels), "Harm that the operation can do."),
  idempotency_required: option(v.boolean(), "Whether a call needs an idempotency key."),
  confirmation_required: option(v.boolean(), "Whether a call needs a confirmation of the user."),
  required_scopes: option(v.array(v.string()), "Scopes that the caller needs."),
  rate_limit_bucket: option(v.string(), "Name of the rate limit that calls count against."),
  reversible: option(v.boolean(), "Whether the effect of a call can be undone."),
  category: option(v.string(), "Category, which the default scope and rate limit are named after."),
  retry_safe: option(v.boolean(), "Whether a call with an unknown outcome may be made again."),
});

/** Policy of operations in a config. */
export type PolicyOverride = v.InferInput<typeof policyOverride>;

/** Applies the config to the inferred policy of a tool. */
type Override = (tool: Tool, inferred: OperationPolicy) => OperationPolicy;

/** Compiles the patterns of a config; of several that match, the later one counts. */
export function createOverride(operations: Readonly<Record<string, PolicyOverride>>): Override {
  const entries = Object.entries(operations).map(([pattern, override]) => ({
    matches: compileGlob(pattern),
    override,
  }));
  return (tool, inferred) => {
    const given = Object.assign(
      {},
      ...entries.filter(({ matches }) => matches(tool.id)).map(({ override }) => override),
    );
    return applyOverride(given as PolicyOverride, inferred);
  };
}

function applyOverride(given: PolicyOverride, inferred: OperationPolicy): OperationPolicy {
  // Another level or category has other defaults; explicit fields go before them.
  const isOther = given.risk_level !== undefined || given.category !== undefined;
  const base = isOther
    ? createPolicy(given.risk_level ?? inferred.riskLevel, given.category ?? inferred.category)
    : inferred;
  return Object.freeze({
    ...base,
    idempotencyRequired: given.idempotency_required ?? base.idempotencyRequired,
    confirmationRequired: given.confirmation_required ?? base.confirmationRequired,
    requiredScopes: Object.freeze([...(given.required_scopes ?? base.requiredScopes)]),
    rateLimitBucket: given.rate_limit_bucket ?? base.rateLimitBucket,
    reversible: given.reversible ?? base.reversible,
    retrySafe: given.retry_safe ?? false,
  });
}

/** Infers the policy of a tool and applies the config to it. */
type Policies = (tool: Tool) => OperationPolicy;

interface PolicyOptions {
  readonly operations: Readonly<Record<string, PolicyOverride>>;
  readonly trusted: readonly string[];
}

/** Creates the policies of a gateway. */
export function createPolicies({ services }: Gateway, { operations, trusted }: PolicyOptions): Policies {
  const override = createOverride(operations);
  return (tool) => {
    const category = services.adapters?.get(tool.server)?.category;
    return override(tool, inferPolicy(tool, { trusted: trusted.includes(tool.server), category }));
  };
}

/**
 * Gives a tool a policy that is inferred on first use: when the tool is discovered, other plugins have not described it
 * yet, and of a thousand tools most are never called.
 */
export function definePolicy(tool: Tool, infer: Policies): void {
  let known: OperationPolicy | undefined;
  Object.defineProperty(tool, "policy", {
    enumerable: true,
    get: () => {
      known ??= infer(tool);
      return known;
    },
    // Another plugin may replace it until the tool is in the catalog.
    set: (policy: OperationPolicy | undefined) => {
      if (!Object.isFrozen(tool)) known = policy;
    },
  });
}
