import { defineError, type ErrorKind } from "../../core/mod.ts";

export const REGISTRY_UNAVAILABLE: ErrorKind = defineError("REGISTRY_UNAVAILABLE", {
  spec: "SERVER_CONNECTION_ERROR",
  retry: true,
  description: "A registry could not be asked, or its answer is unusable.",
});
export const REGISTRY_NOT_FOUND: ErrorKind = defineError("REGISTRY_NOT_FOUND", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "No registry has a server of this name or version.",
});
export const REGISTRY_REFUSED: ErrorKind = defineError("REGISTRY_REFUSED", {
  spec: "CONFIGURATION_ERROR",
  exit: 4,
  description:
    "A server of a registry is not added: it was deleted, or its definition cannot be used safely.",
});
