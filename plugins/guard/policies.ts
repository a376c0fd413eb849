import type { Gateway, Tool } from "../../core/mod.ts";
import type {} from "../../core/services/adapters.ts";
import type { OperationPolicy } from "../../core/services/policy.ts";
import { inferPolicy } from "../lib/risk.ts";
import type { GuardSettings } from "./options.ts";
import { createOverride } from "./overrides.ts";

/** Infers the policy of a tool and applies the config to it. */
export type Policies = (tool: Tool) => OperationPolicy;

/** Creates the policies of a gateway. */
export function createPolicies({ services }: Gateway, { operations, trusted }: GuardSettings): Policies {
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
export function definePolicy(tool: Tool, inferFor: Policies): void {
  let known: OperationPolicy | undefined;
  Object.defineProperty(tool, "policy", {
    enumerable: true,
    get: () => {
      known ??= inferFor(tool);
      return known;
    },
    // Another plugin may replace it until the tool is in the catalog.
    set: (policy: OperationPolicy | undefined) => {
      if (!Object.isFrozen(tool)) known = policy;
    },
  });
}
