import { defineError, type ErrorKind } from "../../core/mod.ts";

/** A file that waits for approval is not as it was written, so that nobody knows what would be approved. */
export const CAPABILITY_EDITED: ErrorKind = defineError("CAPABILITY_EDITED", {
  spec: "CONFIGURATION_ERROR",
  exit: 4,
});
