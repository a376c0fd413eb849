import { defineError, type ErrorKind } from "../../core/mod.ts";

/** A registry of servers could not be asked, or did not answer in a form that can be used. */
export const REGISTRY_UNAVAILABLE: ErrorKind = defineError("REGISTRY_UNAVAILABLE", {
  spec: "SERVER_CONNECTION_ERROR",
  retry: true,
});
/** No registry knows a server of this name or version. */
export const REGISTRY_NOT_FOUND: ErrorKind = defineError("REGISTRY_NOT_FOUND", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});
/** A server of a registry must not or cannot be added: it was deleted, or what it says cannot be used safely. */
export const REGISTRY_REFUSED: ErrorKind = defineError("REGISTRY_REFUSED", {
  spec: "CONFIGURATION_ERROR",
  exit: 4,
});
