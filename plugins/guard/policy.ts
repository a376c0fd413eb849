import type { Tool } from "../../core/mod.ts";

/** How much harm an operation can do. */
export type RiskLevel = "low" | "medium" | "high" | "destructive";

/** The levels, the least harmful first. */
export const riskLevels: readonly RiskLevel[] = ["low", "medium", "high", "destructive"];

/** What is asked of whoever calls an operation. */
export interface OperationPolicy {
  readonly riskLevel: RiskLevel;
  /** Whether a call needs a key under which it happens once at most. */
  readonly idempotencyRequired: boolean;
  /** Whether a person must have said yes. */
  readonly confirmationRequired: boolean;
  readonly requiredScopes: readonly string[];
  /** The name of the rate limit it counts against. */
  readonly rateLimitBucket: string;
  readonly reversible: boolean;
  readonly category: string;
  /** Whether an operator has said that doing it twice does no harm. What its server says of that does not count. */
  readonly retrySafe?: boolean | undefined;
}

declare module "../../core/tool.ts" {
  interface Tool {
    /** Set by the plugin `guard`. Whatever has none is treated as high risk. */
    policy?: OperationPolicy;
  }
}

/** The higher of two levels. */
export function higher(a: RiskLevel, b: RiskLevel): RiskLevel {
  return riskLevels.indexOf(a) >= riskLevels.indexOf(b) ? a : b;
}

/** What a level asks for, where nothing else is said of an operation. */
export function policyFor(riskLevel: RiskLevel, category: string): OperationPolicy {
  return {
    riskLevel,
    idempotencyRequired: riskLevel === "high",
    confirmationRequired: riskLevel === "destructive",
    requiredScopes: riskLevel === "low" ? [] : [`${category}:write`],
    rateLimitBucket: `${category}_${riskLevel}_risk`,
    reversible: riskLevel === "low" || riskLevel === "medium",
    category,
  };
}

/** The policy of a tool; that of high risk where nobody has given it one. */
export function policyOf(tool: Tool): OperationPolicy {
  return tool.policy ?? policyFor(tool.builtin ? "low" : "high", tool.server);
}
