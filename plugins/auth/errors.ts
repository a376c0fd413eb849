import { defineError, type ErrorKind } from "../../core/mod.ts";

/** The request has no token, or none that is accepted. */
export const UNAUTHENTICATED: ErrorKind = defineError("UNAUTHENTICATED", { rpc: -32001, exit: 3 });
/** The caller is known, and lacks a scope that this gateway requires. */
export const INSUFFICIENT_SCOPE: ErrorKind = defineError("INSUFFICIENT_SCOPE", { rpc: -32001, exit: 3 });
/** The keys to check a token with cannot be loaded now. */
export const AUTH_UNAVAILABLE: ErrorKind = defineError("AUTH_UNAVAILABLE", { retry: true });
