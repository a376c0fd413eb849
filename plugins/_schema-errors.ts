import { defineError, type ErrorKind } from "../core/mod.ts";

/** The input schema of a tool is too large, or takes too long to check against. */
export const SCHEMA_TOO_COMPLEX: ErrorKind = defineError("SCHEMA_TOO_COMPLEX", { exit: 2 });
/** The input schema of a tool says something that is never looked at here: another document, or a pattern that can stall. */
export const SCHEMA_UNSUPPORTED: ErrorKind = defineError("SCHEMA_UNSUPPORTED", { exit: 2 });
