import { setMaxListeners } from "node:events";
import { GatewayError } from "../../core/mod.ts";
import { CONNECT_FAILED } from "./errors.ts";
import { eventsOf, filtered, tooLarge, wholeBody } from "./http-body.ts";
import { networkError, shownUrl } from "./http-errors.ts";

/** The part of `fetch` that the protocol needs. */
export type Fetch = (url: string | URL, init?: RequestInit) => Promise<Response>;

/** What a {@link guardedFetch} is given. */
export interface GuardedFetchOptions {
  /** Sent to the origin of the first URL of a request, and to no other. */
  readonly headers?: Readonly<Record<string, string>>;
  /** How large an answer, or one event of a stream, may be once decompressed. */
  readonly maxBytes: number;
  /** A request ends after this long, however busily its answer trickles in. A stream of events is ended by whoever reads it. */
  readonly deadlineMs: number;
  /** Told of an event that is too large and therefore left out: the id of the message in it once it is known, and the request it came for. */
  readonly onDropped?: (id: string | number | undefined, init: RequestInit) => void;
}

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/** A `fetch` for servers that nobody vouches for: every answer is bounded in time and size, and headers stay where they belong. */
export function guardedFetch(options: GuardedFetchOptions): Fetch {
  const { headers = {}, maxBytes, deadlineMs, onDropped } = options;
  const own = validHeaders(headers);

  return async (url, init = {}) => {
    const { signal: outer } = init;
    const abort = new AbortController();
    const giveUp = (): void => abort.abort(outer?.reason);
    const late = new GatewayError("TIMEOUT", `The server did not answer within ${deadlineMs} ms.`);
    const timer = setTimeout(() => abort.abort(late), deadlineMs);
    if (outer?.aborted) giveUp();
    // All requests of a connection share one signal; ten of them at once are nothing to be warned of.
    if (outer) setMaxListeners(0, outer);
    outer?.addEventListener("abort", giveUp, { once: true });
    const done = (): void => {
      clearTimeout(timer);
      outer?.removeEventListener("abort", giveUp);
    };
    let place = new URL(url);
    const toError = (thrown: unknown): unknown =>
      abort.signal.aborted ? abort.signal.reason : networkError(thrown, place);

    try {
      const response = await follow(place, { ...init, signal: abort.signal }, (next) => {
        place = next;
      });
      return bounded(response);
    } catch (thrown) {
      done();
      throw toError(thrown);
    }

    function bounded(response: Response): Response {
      if (!response.body) {
        done();
        return response;
      }
      const isStream = /^text\/event-stream\b/i.test(response.headers.get("content-type") ?? "");
      if (isStream) clearTimeout(timer);
      else if (announced(response) > maxBytes) {
        abort.abort(tooLarge(maxBytes));
        throw abort.signal.reason;
      }
      const filter = isStream ? eventsOf(maxBytes, (id) => onDropped?.(id, init)) : wholeBody(maxBytes);
      const { status, statusText, headers } = response;
      return new Response(filtered(response.body, filter, done, toError), { status, statusText, headers });
    }
  };

  async function follow(from: URL, init: RequestInit, onHop: (place: URL) => void): Promise<Response> {
    const headers = new Headers(init.headers);
    for (const [name, value] of own) if (!headers.has(name)) headers.set(name, value);
    const { username, password } = from;
    let place = withoutUser(from);
    if (username && !headers.has("authorization")) {
      const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
      headers.set("authorization", `Basic ${Buffer.from(pair).toString("base64")}`);
    }
    for (let hops = 0; ; hops++) {
      onHop(place);
      const response = await fetch(place, { ...init, headers, redirect: "manual" });
      const location = response.headers.get("location");
      if (init.redirect === "manual" || !REDIRECTS.has(response.status) || location === null) return response;
      await response.body?.cancel();
      const target = redirectTarget(place, location, response.status, init.method);
      if (hops === MAX_REDIRECTS) throw refused(place, `it redirects more than ${MAX_REDIRECTS} times`);
      if (!sameOrigin(place, target)) keepProtocolHeaders(headers, own);
      place = target;
    }
  }
}

/** What the protocol itself has to say goes on to another origin; what proves who we are does not. */
function keepProtocolHeaders(headers: Headers, own: ReadonlyMap<string, string>): void {
  for (const name of [...headers.keys()]) {
    const ofProtocol = /^(accept|content-type|last-event-id|mcp-.+)$/.test(name);
    if (!ofProtocol || own.has(name)) headers.delete(name);
  }
}

/** Where a redirect leads, if it may be followed: never from https to anything else, and never so that the message is lost. */
export function redirectTarget(from: URL, location: string, status: number, method = "GET"): URL {
  if (!URL.canParse(location, from.href)) throw refused(from, "it redirects to nowhere");
  const target = withoutUser(new URL(location, from));
  if (target.protocol !== "https:" && (target.protocol !== "http:" || from.protocol === "https:")) {
    throw refused(from, "it redirects from https to something that is not");
  }
  // A browser would go on with GET, without the message.
  if (method !== "GET" && status !== 307 && status !== 308) {
    throw refused(from, `it has moved to ${shownUrl(target)}, which must be written in the configuration`);
  }
  return target;
}

function refused(from: URL, why: string): GatewayError {
  return new GatewayError(CONNECT_FAILED, `The server at ${from.host} cannot be used: ${why}.`);
}

/** The same scheme, host and port; or the same host over https in place of http, each on its usual port. */
function sameOrigin(from: URL, to: URL): boolean {
  if (from.origin === to.origin) return true;
  return (
    from.protocol === "http:" &&
    to.protocol === "https:" &&
    from.hostname === to.hostname &&
    !from.port &&
    !to.port
  );
}

function withoutUser(url: URL): URL {
  const plain = new URL(url);
  plain.username = "";
  plain.password = "";
  return plain;
}

function announced(response: Response): number {
  return Number(response.headers.get("content-length") ?? 0);
}

/** The same headers, with lower-case names. */
function validHeaders(headers: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  const valid = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    setHeader(new Headers(), name, value);
    valid.set(name.toLowerCase(), value);
  }
  return valid;
}

/** Sets a header, or fails without repeating its value, as the runtime's own message would. */
export function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value);
  } catch {
    const message = `The header ${JSON.stringify(name)} cannot be sent: it holds a character that is not allowed.`;
    throw new GatewayError("CONFIG_INVALID", message);
  }
}
