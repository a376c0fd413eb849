import type { IncomingMessage, ServerResponse } from "node:http";

const METHODS = "GET, POST";
const HEADERS =
  "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name, idempotency-key, confirmation-token";
const EXPOSED = "mcp-session-id, www-authenticate, retry-after";
const REMEMBER_S = "600";

/**
 * Lets the pages that are allowed read what they are answered: a browser keeps it from them otherwise, and asks first.
 * Returns whether a request was such a question, which is then answered; it says nothing but what the page may do.
 */
export function answerPages(
  { method, headers: { origin = "", "access-control-request-method": asked } }: IncomingMessage,
  response: ServerResponse,
  allowedOrigins: readonly string[],
): boolean {
  if (!allowedOrigins.some((one) => one.toLowerCase() === origin.toLowerCase())) return false;
  response.setHeader("access-control-allow-origin", origin);
  response.setHeader("access-control-expose-headers", EXPOSED);
  response.setHeader("vary", "origin");
  if (method !== "OPTIONS" || asked === undefined) return false;
  response
    .writeHead(204, {
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": HEADERS,
      "access-control-max-age": REMEMBER_S,
    })
    .end();
  return true;
}
