import { defineError, type ErrorKind } from "../../core/mod.ts";

/** Nobody knows who calls: there is no token, or none that counts. */
export const UNAUTHENTICATED: ErrorKind = defineError("UNAUTHENTICATED", { rpc: -32001, exit: 3 });
/** Who calls is known, and may not use this gateway. */
export const INSUFFICIENT_SCOPE: ErrorKind = defineError("INSUFFICIENT_SCOPE", { rpc: -32001, exit: 3 });
/** The keys that tokens are signed with cannot be had now. */
export const AUTH_UNAVAILABLE: ErrorKind = defineError("AUTH_UNAVAILABLE", { retry: true });
