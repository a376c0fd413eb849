import { defineError, type ErrorKind } from "../../core/mod.ts";

/** Two servers have a resource of the same URI; the first one's is used. */
export const RESOURCE_SHADOWED: ErrorKind = defineError("RESOURCE_SHADOWED", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});
/** A server says that what it was asked for is wrong: an argument of a prompt is missing, say. */
export const REQUEST_REFUSED: ErrorKind = defineError("REQUEST_REFUSED", { rpc: -32602, exit: 2 });
