import { GatewayError } from "../../core/mod.ts";
import { RESPONSE_TOO_DEEP } from "./errors.ts";

const MAX_DEPTH = 64;

/** Why parsed JSON of a stranger cannot be used: it reaches a prototype, or is too deep for what walks it later. */
export function faultOf(value: unknown, depth = 0): GatewayError | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= MAX_DEPTH) {
    return new GatewayError(RESPONSE_TOO_DEEP, `The answer is nested deeper than ${MAX_DEPTH} levels.`);
  }
  if (Array.isArray(value)) {
    for (const inner of value) {
      const fault = faultOf(inner, depth + 1);
      if (fault) return fault;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key];
    if (key === "__proto__" || (key === "constructor" && reachesPrototype(inner))) {
      return new GatewayError("FORBIDDEN_KEY", `The answer holds the key "${key}", which is not allowed.`);
    }
    const fault = faultOf(inner, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

function reachesPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}
