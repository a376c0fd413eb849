import type { Actor, Call, GatewayError } from "../../core/mod.ts";
import type { OperationPolicy } from "../../core/services/policy.ts";
import { createRefusal, type GuardRequest, requestMeta } from "../../core/services/policy.ts";
import {
  CONFIRMATION_REQUIRED,
  IDEMPOTENCY_KEY_INVALID,
  IDEMPOTENCY_REQUIRED,
  SCOPE_REQUIRED,
  STATE_VOLATILE,
} from "./errors.ts";
import { isClientKey } from "./idempotency.ts";

/** Additional scopes by actor id; `*` stands for every actor. */
type GrantedScopes = Readonly<Record<string, readonly string[]>>;

/** Throws if the actor lacks a scope. */
export function checkScopes(call: Call, policy: OperationPolicy, granted: GrantedScopes): void {
  const missing = findMissingScopes(call.actor, policy.requiredScopes, granted);
  if (missing.length === 0) return;
  const names = missing.map((scope) => `"${scope}"`).join(", ");
  throw createRefusal(
    SCOPE_REQUIRED,
    call,
    `"${call.toolId}" needs ${names}, which "${call.actor.id}" does not have.`,
    {
      suggestion: `Ask the operator of the gateway for the scope ${names}, or call as an actor that has it.`,
      data: { required_scopes: policy.requiredScopes, missing_scopes: missing },
    },
  );
}

/** Throws if an idempotency key is missing or malformed. Its earlier use is checked after the arguments are validated. */
export function checkKey(
  call: Call,
  policy: OperationPolicy,
  { key }: GuardRequest,
  isVolatile: boolean,
  isShared = false,
): void {
  const meta = requestMeta.idempotencyKey;
  if (key !== undefined && !isClientKey(key)) {
    throw createRefusal(
      IDEMPOTENCY_KEY_INVALID,
      call,
      "The idempotency key cannot be used: it must be a string of 8 to 255 visible ASCII characters.",
      { suggestion: "Use a random key such as a UUID.", data: { meta_key: meta } },
    );
  }
  if (!policy.idempotencyRequired) return;
  if (key === undefined) {
    throw createRefusal(
      IDEMPOTENCY_REQUIRED,
      call,
      policy.category === "payments"
        ? "This operation modifies financial data. Provide idempotency_key."
        : `"${call.toolId}" does harm if it happens twice. Provide idempotency_key.`,
      {
        suggestion:
          "Add idempotency_key: a new random string of 8 to 255 characters, such as a UUID, and the same one whenever this call is repeated.",
        data: { meta_key: meta },
      },
    );
  }
  if (isVolatile) throw createVolatileError(call, isShared);
}

/** Creates the error of a call whose idempotency key would not outlive the process, or the Redis, that keeps it. */
export function createVolatileError(call: Call, isShared: boolean): GatewayError {
  const [owner, suggestion] = isShared
    ? ["Redis", 'Set appendonly yes in Redis, or state.volatile to "allow".']
    : ["this process", "Keep the state in files or Redis, or set options.guard.allowVolatile."];
  return createRefusal(
    STATE_VOLATILE,
    call,
    `"${call.toolId}" is not called: its idempotency key would be lost when ${owner} ends.`,
    { suggestion, data: { sent: false } },
  );
}

/** Creates the error of an unconfirmed call, with a token that confirms this call. */
export function createConfirmationError(
  call: Call,
  { reversible }: OperationPolicy,
  { token, expiresAt }: { readonly token: string; readonly expiresAt: number },
  takesBoolean: boolean,
): GatewayError {
  const what = reversible ? "needs a confirmation" : "is destructive and cannot be undone";
  const withToken = `ask the user, then call again with the confirmation token in "${requestMeta.confirmation}"`;
  return createRefusal(CONFIRMATION_REQUIRED, call, `This operation ${what}.`, {
    suggestion: takesBoolean
      ? `Add confirmed: true to proceed, or ${withToken}.`
      : `To proceed, ${withToken}.`,
    data: {
      meta_key: takesBoolean ? requestMeta.confirmed : requestMeta.confirmation,
      confirmation: token,
      confirmation_expires_at: new Date(expiresAt).toISOString(),
    },
  });
}

/** Returns the required scopes that an actor lacks. */
function findMissingScopes(
  actor: Actor,
  required: readonly string[],
  granted: GrantedScopes,
): readonly string[] {
  if (required.length === 0) return required;
  const own = Object.hasOwn(granted, actor.id) ? granted[actor.id] : undefined;
  const held = [...actor.scopes, ...(own ?? []), ...(granted["*"] ?? [])];
  return required.filter((scope) => !held.some((each) => covers(each, scope)));
}

/** `*` covers everything, and `payments:*` all that begins with `payments:`. */
function covers(held: string, scope: string): boolean {
  if (held === scope || held === "*") return true;
  return held.endsWith(":*") && scope.startsWith(held.slice(0, -1));
}
