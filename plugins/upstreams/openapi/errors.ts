import { defineError, type ErrorKind } from "../../../core/mod.ts";

/** The document of an adapter cannot be used; the other adapters go on. */
export const DOCUMENT_BROKEN: ErrorKind = defineError("DOCUMENT_BROKEN", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});
/** A request led to an address that is not on the public internet. */
export const SSRF_BLOCKED: ErrorKind = defineError("SSRF_BLOCKED", {
  spec: "SERVER_CONNECTION_ERROR",
  exit: 4,
});
/** An API was asked too often. */
export const RATE_LIMITED: ErrorKind = defineError("RATE_LIMITED", {
  spec: "RATE_LIMITED",
  retry: true,
});
