import type { Call, GatewayError } from "../../core/mod.ts";
import type { OperationPolicy } from "../../core/services/policy.ts";
import {
  CONFIRMATION_REQUIRED,
  type GuardRequest,
  IDEMPOTENCY_KEY_INVALID,
  IDEMPOTENCY_REQUIRED,
  refusal,
  requestMeta,
  SCOPE_REQUIRED,
  STATE_VOLATILE,
} from "../../core/services/policy.ts";
import { isClientKey } from "./idempotency.ts";
import { type GrantedScopes, missingScopes } from "./scopes.ts";

/** Throws if the actor lacks a scope. */
export function checkScopes(call: Call, policy: OperationPolicy, granted: GrantedScopes): void {
  const missing = missingScopes(call.actor, policy.requiredScopes, granted);
  if (missing.length === 0) return;
  const names = missing.map((scope) => `"${scope}"`).join(", ");
  throw refusal(
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
): void {
  const meta = requestMeta.idempotencyKey;
  if (key !== undefined && !isClientKey(key)) {
    throw refusal(
      IDEMPOTENCY_KEY_INVALID,
      call,
      "The idempotency key cannot be used: it must be a string of 8 to 255 visible ASCII characters.",
      { suggestion: "Use a random key such as a UUID.", data: { meta_key: meta } },
    );
  }
  if (!policy.idempotencyRequired) return;
  if (key === undefined) {
    throw refusal(
      IDEMPOTENCY_REQUIRED,
      call,
      `"${call.toolId}" does harm if it happens twice. Provide idempotency_key.`,
      {
        suggestion:
          "Add idempotency_key: a new random string of 8 to 255 characters, such as a UUID, and the same one whenever this call is repeated.",
        data: { meta_key: meta },
      },
    );
  }
  if (isVolatile) {
    throw refusal(
      STATE_VOLATILE,
      call,
      `"${call.toolId}" is not called: its idempotency key would be forgotten when this process ends.`,
      { suggestion: "Keep the state in files or Redis, or set options.guard.allowVolatile." },
    );
  }
}

/** Creates the error of an unconfirmed call, with a token that confirms this call. */
export function unconfirmed(
  call: Call,
  { reversible }: OperationPolicy,
  { token, expiresAt }: { readonly token: string; readonly expiresAt: number },
  takesFlag: boolean,
): GatewayError {
  const what = reversible ? "needs a confirmation" : "is destructive and cannot be undone";
  const withToken = `ask the user, then call again with the confirmation token in "${requestMeta.confirmation}"`;
  return refusal(CONFIRMATION_REQUIRED, call, `This operation ${what}.`, {
    suggestion: takesFlag ? `Add confirmed: true to proceed, or ${withToken}.` : `To proceed, ${withToken}.`,
    data: {
      meta_key: takesFlag ? requestMeta.confirmed : requestMeta.confirmation,
      confirmation: token,
      confirmation_expires_at: new Date(expiresAt).toISOString(),
    },
  });
}
