import { defineError, type ErrorKind } from "../../core/mod.ts";

/** What is registered is not what there is, so that nothing is recommended. */
export const INTENT_DISABLED: ErrorKind = defineError("INTENT_DISABLED", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});
