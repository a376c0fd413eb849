import type { IncomingMessage, ServerResponse } from "node:http";
import { type Actor, type Gateway, GatewayError, localUser } from "../../../core/mod.ts";
import { type Auth, getMetadataPath } from "../../../core/services/http.ts";
import { createOriginCheck, getPath, type ServedAddress, toUrlHost } from "../../lib/http/server-request.ts";
import { HttpRefusal } from "../../lib/jsonrpc.ts";

/** The checks that every HTTP request passes first. */
export interface Gate {
  /** Throws a {@link HttpRefusal} if a request is for another host, or from the page of another site. */
  readonly check: (request: IncomingMessage) => void;
  /** The caller: the local user if no authentication is configured. Rejects with a {@link HttpRefusal}. */
  readonly authenticate: (request: IncomingMessage) => Promise<Actor>;
  /** Whether a request asks where to get tokens, and there are any. */
  readonly asksForMetadata: (request: IncomingMessage) => boolean;
  /** The answer to that, for a request that has passed the check. */
  readonly getMetadata: (request: IncomingMessage) => object;
}

const statuses: Readonly<Record<string, number | undefined>> = {
  __proto__: null as never,
  UNAUTHENTICATED: 401,
  INSUFFICIENT_SCOPE: 403,
};
/** Seconds to wait while the keys of an issuer cannot be loaded. */
const RETRY_S = 5;

const CORS_METHODS = "GET, POST";
const CORS_HEADERS =
  "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, idempotency-key, confirmation-token";
const CORS_EXPOSED = "mcp-session-id, www-authenticate, retry-after";
const CORS_MAX_AGE_S = "600";

/** Creates the gate of an address; `path` is that of MCP, which tokens are issued for. */
export function createGate(place: ServedAddress & { readonly path: string }, gateway: () => Gateway): Gate {
  const { host, port, path } = place;
  const own = `http://${toUrlHost(host)}:${port}${path}`;
  // Some clients look at the root, whatever the challenge says.
  const places = new Set([getMetadataPath(own), getMetadataPath(new URL("/", own).href)]);
  return {
    check: createOriginCheck(place),
    async authenticate(request) {
      const { auth } = gateway().services;
      if (!auth) return localUser;
      try {
        return await auth.authenticate(request.headers.authorization);
      } catch (thrown) {
        throw toRefusal(thrown, auth, getUrl(request));
      }
    },
    asksForMetadata(request) {
      const { auth } = gateway().services;
      const asked = getPath(request);
      return (
        auth !== undefined && (places.has(asked) || asked === getMetadataPath(auth.metadata.resource(own)))
      );
    },
    getMetadata: (request) => gateway().services.auth?.metadata.document(getUrl(request)) ?? {},
  };

  /** The address as the client knows it: its host has passed the check. */
  function getUrl({ headers }: IncomingMessage): string {
    return headers.host === undefined ? own : `http://${headers.host}${path}`;
  }
}

/**
 * Answers the CORS questions of browsers for pages of the allowed origins. Returns whether a request was a preflight
 * request, which is answered then; the answer says nothing but what the page may do.
 */
export function answerCors(
  { method, headers: { origin = "", "access-control-request-method": asked } }: IncomingMessage,
  response: ServerResponse,
  allowedOrigins: readonly string[],
): boolean {
  if (!allowedOrigins.some((one) => one.toLowerCase() === origin.toLowerCase())) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", CORS_EXPOSED);
  response.setHeader("vary", "origin");
  if (method !== "OPTIONS" || asked === undefined) return false;
  response
    .writeHead(204, {
      "access-control-allow-methods": CORS_METHODS,
      "access-control-allow-headers": CORS_HEADERS,
      "access-control-max-age": CORS_MAX_AGE_S,
    })
    .end();
  return true;
}

function toRefusal(thrown: unknown, { metadata }: Auth, servedAt: string): unknown {
  if (!GatewayError.is(thrown)) return thrown;
  const { code, message, kind, data } = thrown;
  const status = statuses[code] ?? 503;
  // A client without a token is told where to get one, and not that something was wrong with it.
  const failure = data["why"] === "missing" ? undefined : thrown;
  return new HttpRefusal(status, message, {
    code: kind.rpc,
    reason: code,
    headers:
      status === 503
        ? { "retry-after": String(RETRY_S) }
        : { "www-authenticate": metadata.challenge(servedAt, failure) },
  });
}
