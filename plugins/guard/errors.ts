import { defineError, type ErrorKind } from "../../core/mod.ts";

export { STATE_VOLATILE } from "../../core/services/state.ts";

const INVALID_PARAMS = -32602;

export const SCOPE_REQUIRED: ErrorKind = defineError("SCOPE_REQUIRED", {
  spec: "SCOPE_REQUIRED",
  exit: 4,
  description: "The actor lacks a scope that the operation needs.",
});
export const IDEMPOTENCY_REQUIRED: ErrorKind = defineError("IDEMPOTENCY_REQUIRED", {
  spec: "IDEMPOTENCY_REQUIRED",
  exit: 4,
  rpc: INVALID_PARAMS,
  description: "The operation needs an idempotency key.",
});
export const IDEMPOTENCY_KEY_INVALID: ErrorKind = defineError("IDEMPOTENCY_KEY_INVALID", {
  spec: "IDEMPOTENCY_KEY_INVALID",
  exit: 4,
  rpc: INVALID_PARAMS,
  description: "The idempotency key is malformed.",
});
export const IDEMPOTENCY_MISMATCH: ErrorKind = defineError("IDEMPOTENCY_MISMATCH", {
  spec: "IDEMPOTENCY_MISMATCH",
  exit: 4,
  rpc: INVALID_PARAMS,
  description: "The idempotency key was used for another call.",
});
export const IN_PROGRESS: ErrorKind = defineError("IN_PROGRESS", {
  spec: "IN_PROGRESS",
  retry: true,
  description: "The call with this idempotency key is still running.",
});
export const CONFIRMATION_REQUIRED: ErrorKind = defineError("CONFIRMATION_REQUIRED", {
  spec: "CONFIRMATION_REQUIRED",
  exit: 4,
  description: "The operation needs a confirmation of the user.",
});
export const CONFIRMATION_INVALID: ErrorKind = defineError("CONFIRMATION_INVALID", {
  spec: "CONFIRMATION_INVALID",
  exit: 4,
  description: "The confirmation was issued for another call, was used already, or has expired.",
});
export const CONFIRMATION_DECLINED: ErrorKind = defineError("CONFIRMATION_DECLINED", {
  spec: "CONFIRMATION_DECLINED",
  exit: 4,
  description: "The user was asked, and declined.",
});
