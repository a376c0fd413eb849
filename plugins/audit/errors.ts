import { defineError, type ErrorKind } from "../../core/mod.ts";

/** A call that may do harm is not executed, because nobody could tell afterwards that it was. */
export const AUDIT_UNAVAILABLE: ErrorKind = defineError("AUDIT_UNAVAILABLE", {
  spec: "AUDIT_UNAVAILABLE",
  exit: 4,
  retry: true,
});
