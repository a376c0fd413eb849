import { defineError, type ErrorKind } from "../../core/mod.ts";

const connection = { spec: "SERVER_CONNECTION_ERROR", retry: true };

/** The command of a server could not be started. */
export const SPAWN_FAILED: ErrorKind = defineError("SPAWN_FAILED", { ...connection, retry: false });
/** A server did not finish its handshake in time. */
export const CONNECT_TIMEOUT: ErrorKind = defineError("CONNECT_TIMEOUT", connection);
/** A server could not be reached. */
export const CONNECT_FAILED: ErrorKind = defineError("CONNECT_FAILED", connection);
/** A server could not prove who it is, or cannot speak securely. */
export const TLS_ERROR: ErrorKind = defineError("TLS_ERROR", { ...connection, retry: false });
/** A connection ended before an answer came. */
export const UPSTREAM_CLOSED: ErrorKind = defineError("UPSTREAM_CLOSED", connection);
/** A server does not read what is sent to it. */
export const UPSTREAM_STALLED: ErrorKind = defineError("UPSTREAM_STALLED", connection);
/** A server broke the protocol. */
export const UPSTREAM_PROTOCOL: ErrorKind = defineError("UPSTREAM_PROTOCOL", {
  spec: "TOOL_EXECUTION_ERROR",
});
/** A server answered a request with an error of the protocol. */
export const UPSTREAM_ERROR: ErrorKind = defineError("UPSTREAM_ERROR", { spec: "TOOL_EXECUTION_ERROR" });
/** A server asks something, and there is nobody who could be asked, or nobody it certainly belongs to. */
export const QUESTION_REFUSED: ErrorKind = defineError("QUESTION_REFUSED", { spec: "TOOL_EXECUTION_ERROR" });
/** An answer was larger than allowed. */
export const RESPONSE_TOO_LARGE: ErrorKind = defineError("RESPONSE_TOO_LARGE", {
  spec: "TOOL_EXECUTION_ERROR",
});
/** An answer was nested deeper than allowed. */
export const RESPONSE_TOO_DEEP: ErrorKind = defineError("RESPONSE_TOO_DEEP", {
  spec: "TOOL_EXECUTION_ERROR",
});
/** A server asks for credentials that are not there. */
export const NEEDS_AUTH: ErrorKind = defineError("NEEDS_AUTH", { spec: "SERVER_CONNECTION_ERROR" });
/** A server waits for a person to approve it. */
export const NEEDS_APPROVAL: ErrorKind = defineError("NEEDS_APPROVAL", {
  spec: "SERVER_CONNECTION_ERROR",
  exit: 4,
});
/** A definition names a variable that is not set. */
export const MISSING_VARIABLE: ErrorKind = defineError("MISSING_VARIABLE", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});
