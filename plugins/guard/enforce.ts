import { type Call, GatewayError, type Tool } from "../../core/mod.ts";
import { TOOL_DISABLED } from "../rules/mod.ts";
import {
  CONFIRMATION_REQUIRED,
  IDEMPOTENCY_KEY_INVALID,
  IDEMPOTENCY_REQUIRED,
  SCOPE_REQUIRED,
  STATE_VOLATILE,
  TOOL_CHANGED,
  TOOL_PENDING,
} from "./errors.ts";
import { isClientKey } from "./idempotency.ts";
import type { HeldTool } from "./pins.ts";
import type { OperationPolicy } from "./policy.ts";
import { refusal } from "./refusal.ts";
import { type GuardRequest, requestMeta } from "./request-meta.ts";
import { type GrantedScopes, missingScopes } from "./scopes.ts";

/** Throws where a tool is kept from being used. */
export function checkTool(call: Call, tool: Tool, held: HeldTool | undefined): void {
  if (held) {
    throw refusal(
      held.status === "changed" ? TOOL_CHANGED : TOOL_PENDING,
      call,
      `"${tool.id}" cannot be called. ${held.reason}`,
      { suggestion: `Ask a person to look at it and to run: toolpipe approve ${tool.id}` },
    );
  }
  if (tool.enabled) return;
  const message = `"${tool.id}" is disabled. ${tool.disabledBecause ?? ""}`.trimEnd();
  throw new GatewayError(TOOL_DISABLED, message, { data: { tool: tool.id } });
}

/** Throws where whoever calls lacks a scope. */
export function checkScopes(call: Call, policy: OperationPolicy, granted: GrantedScopes): void {
  const missing = missingScopes(call.actor, policy.requiredScopes, granted);
  if (missing.length === 0) return;
  const names = missing.map((scope) => `"${scope}"`).join(", ");
  throw refusal(
    SCOPE_REQUIRED,
    call,
    `"${call.toolId}" needs ${names}, which "${call.actor.id}" does not have.`,
    {
      suggestion: `Ask whoever runs the gateway for the scope ${names}, or call as somebody who has it.`,
      data: { required_scopes: policy.requiredScopes, missing_scopes: missing },
    },
  );
}

/** Throws where a key is missing, or is none. Whether it was used before is looked at once the arguments are known to be right. */
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
      "The idempotency key cannot be used: it must be a text of 8 to 255 visible ASCII characters.",
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
          "Add idempotency_key: a new random text of 8 to 255 characters, such as a UUID, and the same one whenever this call is repeated.",
        data: { meta_key: meta },
      },
    );
  }
  if (isVolatile) {
    throw refusal(
      STATE_VOLATILE,
      call,
      `"${call.toolId}" is not called: that it happens once could be remembered only as long as this process lives.`,
      { suggestion: "Keep the state in files, or set options.guard.allowVolatile." },
    );
  }
}

/** The error of a call that nobody has confirmed; it carries a token that confirms that very call. */
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
