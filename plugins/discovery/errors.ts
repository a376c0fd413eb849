import { defineError, type ErrorKind, GatewayError } from "../../core/mod.ts";
import { RATE_LIMITED } from "../../core/services/policy.ts";
import {
  CONNECT_FAILED,
  CONNECT_TIMEOUT,
  NEEDS_AUTH,
  SPAWN_FAILED,
  TLS_ERROR,
  UPSTREAM_CLOSED,
  UPSTREAM_STALLED,
} from "../../core/services/servers.ts";
import { SSRF_BLOCKED } from "../lib/http/errors.ts";

export const SESSION_INIT_FAILED: ErrorKind = defineError("SESSION_INIT_FAILED", {
  spec: "SERVER_CONNECTION_ERROR",
  description: "A server was reached, and no session could be opened with it.",
});
export const TOOLS_LIST_FAILED: ErrorKind = defineError("TOOLS_LIST_FAILED", {
  spec: "SERVER_CONNECTION_ERROR",
  description: "A server with a session does not list its tools.",
});
export const SCHEMA_CONVERSION_FAILED: ErrorKind = defineError("SCHEMA_CONVERSION_FAILED", {
  description: "A schema could not be turned into a type; any value takes its place.",
});
export const CAPABILITY_EDITED: ErrorKind = defineError("CAPABILITY_EDITED", {
  spec: "CONFIGURATION_ERROR",
  exit: 4,
  description: "A file that waits for approval was edited, so that its content would be approved unseen.",
});

/** Failures that spec 004 names. */
export type DiscoveryFault =
  | "ConnectionFailed"
  | "SessionInitFailed"
  | "ToolsListFailed"
  | "SchemaConversionFailed"
  | "RateLimited"
  | "AuthenticationFailed"
  | "Timeout";

/** Error codes of each failure. */
export const discoveryFaults: Readonly<Record<DiscoveryFault, readonly string[]>> = {
  ConnectionFailed: [
    CONNECT_FAILED.code,
    SPAWN_FAILED.code,
    TLS_ERROR.code,
    UPSTREAM_CLOSED.code,
    UPSTREAM_STALLED.code,
    SSRF_BLOCKED.code,
  ],
  SessionInitFailed: [SESSION_INIT_FAILED.code],
  ToolsListFailed: [TOOLS_LIST_FAILED.code],
  SchemaConversionFailed: [SCHEMA_CONVERSION_FAILED.code],
  RateLimited: [RATE_LIMITED.code],
  AuthenticationFailed: [NEEDS_AUTH.code],
  Timeout: ["TIMEOUT", CONNECT_TIMEOUT.code],
};

/** Codes that concern the definition or the caller, not the server. */
const NOT_OF_THE_SERVER = new Set([
  "CANCELLED",
  "CLOSED",
  "CONFIG_INVALID",
  "DENIED",
  "MISSING_VARIABLE",
  "NEEDS_APPROVAL",
]);

/** Finds the name that spec 004 gives a failure; undefined if it names none. */
export function findFault(error: GatewayError): DiscoveryFault | undefined {
  const names = Object.keys(discoveryFaults) as DiscoveryFault[];
  return names.find((name) => discoveryFaults[name].includes(error.code));
}

/** Classifies a failure of the session or of the listing as one that the specification names. */
export function discoveryError(thrown: unknown, step: "session" | "tools", server: string): GatewayError {
  const error = GatewayError.from(thrown, `The server "${server}" could not be asked for its tools.`);
  const { status, retryAfterMs } = error.data;
  if (status === 429) return toKind(RATE_LIMITED, error, server, { retryAfterMs: retryAfterMs ?? 0 });
  if (status === 401 || status === 403) return toKind(NEEDS_AUTH, error, server);
  if (NOT_OF_THE_SERVER.has(error.code) || findFault(error) !== undefined) return error;
  return toKind(step === "session" ? SESSION_INIT_FAILED : TOOLS_LIST_FAILED, error, server);
}

function toKind(kind: ErrorKind, error: GatewayError, server: string, more: object = {}): GatewayError {
  const { message, data, cause } = error;
  // An internal error need not name the server.
  const named = message.includes(`"${server}"`) ? message : `The server "${server}" failed: ${message}`;
  return new GatewayError(kind, named, { cause: cause ?? error, data: { ...data, server, ...more } });
}

/** Whether a retry may succeed: after HTTP 429 and 503, timeouts and broken connections. */
export function isRetryable(error: GatewayError): boolean {
  const { status } = error.data;
  // With a status there was an answer, and it alone counts.
  if (typeof status === "number") return status === 429 || status === 503;
  if (error.code === RATE_LIMITED.code || findFault(error) === "Timeout") return true;
  return wasReset(error);
}

function wasReset(error: GatewayError): boolean {
  let next: unknown = error;
  for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
    if (GatewayError.is(next) && next.code === UPSTREAM_CLOSED.code) return true;
    next = next.cause;
  }
  return false;
}
