import type { Gateway, Tool } from "../../core/mod.ts";
import type {} from "../upstreams/openapi/operation.ts";
import { inferPolicy } from "./infer.ts";
import type { GuardSettings } from "./options.ts";
import { createOverride } from "./overrides.ts";
import type { OperationPolicy } from "./policy.ts";

/** Says what is asked of a tool: what can be inferred, and what the config makes of that. */
export type Policies = (tool: Tool) => OperationPolicy;

/** Makes the policies of a gateway. */
export function createPolicies({ services }: Gateway, { operations, trusted }: GuardSettings): Policies {
  const override = createOverride(operations);
  return (tool) => {
    const category = services.adapters?.get(tool.server)?.category;
    return override(tool, inferPolicy(tool, { trusted: trusted.includes(tool.server), category }));
  };
}

/**
 * Gives a tool its policy, inferred when it is first asked for: what other plugins say of a tool is not there yet
 * when it is discovered, and of a thousand tools most are never called.
 */
export function definePolicy(tool: Tool, policyFor: Policies): void {
  let known: OperationPolicy | undefined;
  Object.defineProperty(tool, "policy", {
    enumerable: true,
    get: () => {
      known ??= policyFor(tool);
      return known;
    },
    // Another plugin may know better, until the tool is in the catalog.
    set: (policy: OperationPolicy | undefined) => {
      if (!Object.isFrozen(tool)) known = policy;
    },
  });
}
