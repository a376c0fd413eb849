import type { JsonObject } from "../../core/mod.ts";

/** Documentation of a concept of the gateway. */
export interface GatewayConcept {
  readonly name: string;
  readonly description: string;
  readonly examples?: readonly JsonObject[];
  readonly errors?: readonly { readonly code: string; readonly meaning: string; readonly fix: string }[];
  readonly bestPractices?: readonly string[];
}

const idempotencyErrors = [
  {
    code: "IDEMPOTENCY_REQUIRED",
    meaning: "The operation changes something and was called without a key.",
    fix: "Add options.idempotency_key.",
  },
  {
    code: "IDEMPOTENCY_MISMATCH",
    meaning: "The key was used before, with other params.",
    fix: "Use a new key for a new call, and the same one only to repeat the very same call.",
  },
  {
    code: "IN_PROGRESS",
    meaning: "A call with this key is still on its way.",
    fix: "Wait, then repeat it with the same key.",
  },
  {
    code: "OUTCOME_UNKNOWN",
    meaning: "A call with this key was sent, and it is unknown whether it was done.",
    fix: "Look at the service itself before anything is repeated with a new key.",
  },
];

const confirmationErrors = [
  {
    code: "CONFIRMATION_REQUIRED",
    meaning: "The operation is destructive and cannot be undone.",
    fix: "Ask the user, then add options.confirmed: true.",
  },
];

/** Concepts of the gateway by topic. */
export const concepts: Readonly<Record<string, GatewayConcept>> = {
  idempotency: {
    name: "Idempotency",
    description:
      "A call with options.idempotency_key happens once at most: repeated with the same key and params, it is answered with what it was answered before.",
    examples: [
      {
        title: "A call that may be repeated",
        tool_id: "adapter:tool",
        request: { params: {}, options: { idempotency_key: "order-1234-charge" } },
      },
    ],
    errors: idempotencyErrors,
    bestPractices: [
      "Make the key from what the call is for, such as the number of an order, and keep it until the outcome is known",
      "A key has 8 to 255 visible ASCII characters",
      "After a timeout, repeat the call with the same key",
    ],
  },
  confirmation: {
    name: "Confirmation",
    description:
      "Destructive operations are refused unless options.confirmed is true. It says that a person has agreed to this very call.",
    errors: confirmationErrors,
    bestPractices: [
      "Show the user what options.dry_run: true answers, then ask",
      "Never set confirmed: true without having asked",
    ],
  },
  dry_run: {
    name: "Dry run",
    description:
      "With options.dry_run: true nothing is sent: the answer is the request that would be, with its secrets masked. It needs neither key nor confirmation.",
    bestPractices: ["Use it before anything that costs money or cannot be undone"],
  },
  risk_levels: {
    name: "Risk levels",
    description:
      "Every operation is low, medium, high or destructive; one of which nothing is known is high. ready_to_execute.constraints of gateway.intent says what each asks for.",
    bestPractices: [
      "high asks for options.idempotency_key, destructive for options.confirmed",
      "required_scopes, where there are any, must be granted to you in the config of the gateway",
    ],
  },
  authentication: {
    name: "Authentication",
    description:
      "The gateway proves to each service who it is, with what is in the variables of its own environment. Credentials are never params.",
    errors: [
      {
        code: "NEEDS_AUTH",
        meaning: "The gateway has no credential for the service, or it is no longer valid.",
        fix: "Ask the user to set the variable that gateway.reference names for the adapter, or to log in.",
      },
    ],
    bestPractices: [
      "Use gateway.reference with an adapter and section authentication for the name of its variable",
    ],
  },
  rate_limits: {
    name: "Rate limits",
    description: "Calls count against the bucket that constraints.rate_limit names.",
    errors: [
      {
        code: "RATE_LIMITED",
        meaning: "Too many calls were made in a short time.",
        fix: "Wait for as many seconds as retry_after says.",
      },
    ],
  },
  errors: {
    name: "Errors",
    description:
      "A failed call has success: false and error.code, error.message and error.suggestion. TOOL_ERROR is the service's own answer, which is in data; every other code is the gateway's.",
    // Filled with the kinds of failure that the plugins declare.
    errors: [],
  },
};

/** Finds a concept by its topic, however its words are joined. */
export function findConcept(topic: string): GatewayConcept | undefined {
  const key = topic
    .trim()
    .toLowerCase()
    .replace(/[\s-]+/g, "_");
  const [, found] =
    Object.entries(concepts).find(([name]) => [name, `${name}s`, name.replace(/s$/, "")].includes(key)) ?? [];
  return found;
}
