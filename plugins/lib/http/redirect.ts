import type { IncomingHttpHeaders } from "node:http";
import { GatewayError } from "../../../core/mod.ts";
import { CONNECT_FAILED } from "../../../core/services/servers.ts";
import { stripUrl } from "./errors.ts";
import type { HttpAnswer, HttpRequest } from "./exchange.ts";

/**
 * Rules for redirects. `message`: the request must arrive as it is, and one that cannot be repeated fails. `web`: 303
 * leads to a GET, and a redirect that is not followed is the answer.
 */
export type RedirectRules = "message" | "web";

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** Returns the request that a redirect asks for; undefined if the answer is no redirect, or is not followed. */
export function nextRequest(
  request: HttpRequest,
  { status, headers: { location } }: Pick<HttpAnswer, "status" | "headers">,
  rules: RedirectRules,
  secretHeaders: ReadonlyMap<string, string>,
): HttpRequest | undefined {
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const { method } = request;
  const isReading = method === "GET" || method === "HEAD";
  // 303 says that the request was done, and where to read how it went.
  const becomesGet = rules === "web" && status === 303 && !isReading;
  const repeats = isReading || status === 307 || status === 308;
  if (rules === "web" && !becomesGet && !repeats) return undefined;
  const url = resolveRedirect(request.url, location);
  if (!becomesGet && !repeats) {
    // A browser would go on with GET, without the message.
    throw toRedirectError(
      request.url,
      `it has moved to ${stripUrl(url)}, which must be written in the configuration`,
    );
  }
  const isSame = isSameOrigin(request.url, url);
  // A body was meant for the origin that it was sent to.
  if (rules === "web" && !isSame && !becomesGet && !isReading) return undefined;
  const kept = Object.entries(request.headers).filter(
    ([name]) =>
      (isSame || isHarmless(name, secretHeaders)) && !(becomesGet && /^content-(type|length)$/.test(name)),
  );
  return {
    method: becomesGet ? "GET" : method,
    url,
    headers: Object.fromEntries(kept),
    ...(!becomesGet && { body: request.body }),
  };
}

/** Resolves the target of a redirect. It never leads from https to anything else. */
export function resolveRedirect(from: URL, location: string): URL {
  if (!URL.canParse(location, from.href))
    throw toRedirectError(from, "it redirects to something that is no URL");
  const target = removeUser(new URL(location, from));
  if (target.protocol === "https:" || (target.protocol === "http:" && from.protocol === "http:"))
    return target;
  throw toRedirectError(from, "it redirects from https to something that is not");
}

/** Creates the error for a server that redirects in a way that is not followed. */
export function toRedirectError(from: URL, why: string): GatewayError {
  return new GatewayError(CONNECT_FAILED, `The server at ${from.host} cannot be used: ${why}.`);
}

/** Removes the user and password from a URL. */
export function removeUser(url: URL): URL {
  const plain = new URL(url);
  plain.username = "";
  plain.password = "";
  return plain;
}

/** Headers of the protocol go on to another origin; credentials do not. */
function isHarmless(name: string, secretHeaders: ReadonlyMap<string, string>): boolean {
  return (
    /^(accept|accept-encoding|content-type|user-agent|last-event-id|mcp-.+)$/.test(name) &&
    !secretHeaders.has(name)
  );
}

/** Whether two URLs have one scheme, host and port; https in place of http counts, each on its default port. */
function isSameOrigin(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  return (
    from.protocol === "http:" &&
    to.protocol === "https:" &&
    from.hostname === to.hostname &&
    !from.port &&
    !to.port
  );
}

/** Whether an answer is a stream of events. */
export function isEventStream(headers: IncomingHttpHeaders): boolean {
  return /^text\/event-stream\b/i.test(headers["content-type"] ?? "");
}

/** Converts headers for a `Response`. */
export function toHeaders(given: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(given))
    for (const one of [value ?? []].flat()) headers.append(name, one);
  return headers;
}

/** Joins the values of each header, by lower-case name. */
export function joinHeaders(given: IncomingHttpHeaders): Record<string, string> {
  const headers: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(given)) {
    if (value !== undefined) headers[name.toLowerCase()] = [value].flat().join(", ");
  }
  return headers;
}

/** Checks headers, and returns them by lower-case name. */
export function checkHeaders(headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const checked = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    setHeader(new Headers(), name, value);
    checked.set(name.toLowerCase(), value);
  }
  return checked;
}

/** Sets a header, or fails without repeating its value, as the message of the runtime would. */
export function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    const message = `The header ${JSON.stringify(name)} cannot be sent: it holds a character that is not allowed.`;
    throw new GatewayError("CONFIG_INVALID", message);
  }
}
