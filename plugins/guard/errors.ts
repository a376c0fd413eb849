import { defineError, type ErrorKind } from "../../core/mod.ts";

export { RATE_LIMITED } from "../upstreams/openapi/errors.ts";

const INVALID_PARAMS = -32602;
const kind = (code: string, row: Partial<ErrorKind> = {}): ErrorKind =>
  defineError(code, { spec: code, exit: 4, ...row });

/** Whoever calls lacks a scope that the operation needs. */
export const SCOPE_REQUIRED: ErrorKind = kind("SCOPE_REQUIRED");
/** The operation needs a key under which it happens once at most. */
export const IDEMPOTENCY_REQUIRED: ErrorKind = kind("IDEMPOTENCY_REQUIRED", { rpc: INVALID_PARAMS });
/** The key is not one that can be used. */
export const IDEMPOTENCY_KEY_INVALID: ErrorKind = kind("IDEMPOTENCY_KEY_INVALID", { rpc: INVALID_PARAMS });
/** The key was used for another call. */
export const IDEMPOTENCY_MISMATCH: ErrorKind = kind("IDEMPOTENCY_MISMATCH", { rpc: INVALID_PARAMS });
/** The call with this key is still under way. */
export const IN_PROGRESS: ErrorKind = kind("IN_PROGRESS", { exit: 3, retry: true });
/** Nobody knows whether the call had its effect. */
export const OUTCOME_UNKNOWN: ErrorKind = kind("OUTCOME_UNKNOWN", { exit: 3 });
/** The operation needs a person to have said yes. */
export const CONFIRMATION_REQUIRED: ErrorKind = kind("CONFIRMATION_REQUIRED");
/** The confirmation was given to another call, was used already, or is too old. */
export const CONFIRMATION_INVALID: ErrorKind = kind("CONFIRMATION_INVALID");
/** A person was asked, and did not say yes. */
export const CONFIRMATION_DECLINED: ErrorKind = kind("CONFIRMATION_DECLINED");
/** The tool is not the one that was approved. */
export const TOOL_CHANGED: ErrorKind = kind("TOOL_CHANGED");
/** The tool waits for a person to look at it. */
export const TOOL_PENDING: ErrorKind = kind("TOOL_PENDING");
/** What has to be remembered would be forgotten with this process. */
export const STATE_VOLATILE: ErrorKind = kind("STATE_VOLATILE");
