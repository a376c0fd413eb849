import { GatewayError } from "../../core/mod.ts";
import { CONNECT_FAILED, NEEDS_AUTH, TLS_ERROR, UPSTREAM_CLOSED, UPSTREAM_ERROR } from "./errors.ts";

/** A URL as it may be shown: no user, no query. */
export function shownUrl(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

const insecure =
  /CERT|_SSL_|ERR_TLS|EPROTO|SSL routines|invalid peer certificate|corrupt message|fatal alert|peer is incompatible/;
const unreachable: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED|connection refused/i, "the connection was refused"],
  [/ENOTFOUND|EAI_AGAIN|dns error/i, "its name is not known"],
  [/EHOSTUNREACH|ENETUNREACH|unreachable/i, "there is no way to it"],
  [/ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, "it did not answer in time"],
  [/client error \(Connect\)/, "no connection could be opened"],
];

/** Says in our words why a request failed; each runtime has its own. */
export function networkError(thrown: unknown, url: URL): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const text = wordsOf(thrown);
  // Not the error itself: its message may repeat the whole URL.
  const options = { cause: new Error(text) };
  if (url.protocol === "https:" && insecure.test(text)) {
    return new GatewayError(TLS_ERROR, `No secure connection to ${url.host} could be made.`, options);
  }
  for (const [pattern, reason] of unreachable) {
    if (!pattern.test(text)) continue;
    return new GatewayError(
      CONNECT_FAILED,
      `The server at ${url.host} cannot be reached: ${reason}.`,
      options,
    );
  }
  if (/UND_ERR_(HEADERS|BODY)_TIMEOUT/.test(text)) {
    return new GatewayError("TIMEOUT", `The server at ${url.host} stopped sending.`, options);
  }
  return new GatewayError(
    UPSTREAM_CLOSED,
    `The connection to ${url.host} ended before the answer had come.`,
    options,
  );
}

/** The messages and codes of an error and of what caused it, without the URLs in them. */
function wordsOf(thrown: unknown): string {
  const words: string[] = [];
  let next = thrown;
  for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
    if ("code" in next) words.push(String(next.code));
    words.push(next.message);
    if (next instanceof AggregateError) next = next.errors[0];
    else next = next.cause;
  }
  return words.join(" ").replace(/\S+:\/\/\S+/g, "(url)");
}

/** The error for a status that no protocol step can use, or nothing where the answer is worth reading. */
export function statusError(response: Response, name: string): GatewayError | undefined {
  const { status } = response;
  if (status === 403) return forbidden(response, name);
  if (status !== 429 && status < 500) return undefined;
  const retryAfterMs = retryAfter(response.headers.get("retry-after"));
  const retryable = status !== 500 && status !== 501;
  const data = { status, retryable, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const reason = status === 429 ? "it was asked too often" : "it has a fault of its own";
  return new GatewayError(UPSTREAM_ERROR, `The server "${name}" answered HTTP ${status}: ${reason}.`, {
    data,
  });
}

/** The error for a status that means nothing to us. */
export function unexpectedStatus(status: number, name: string): GatewayError {
  return new GatewayError(UPSTREAM_ERROR, `The server "${name}" answered HTTP ${status}.`, {
    data: { status },
  });
}

function forbidden(response: Response, name: string): GatewayError {
  const scope = challengeOf(response).scope;
  if (scope === undefined) {
    const message = `The server "${name}" refused the request (HTTP 403): the login or token does not allow it.`;
    return new GatewayError(UPSTREAM_ERROR, message, { data: { status: 403 } });
  }
  return new GatewayError(
    NEEDS_AUTH,
    `The server "${name}" refused the request: it needs the scope "${scope}". Run "${loginCommand(name)}".`,
    { data: { server: name, status: 403, scope, login: loginCommand(name) } },
  );
}

/** What a server says in `WWW-Authenticate` of the login it wants. */
export interface Challenge {
  readonly scope?: string;
  readonly resourceMetadata?: URL;
}

/** Reads `WWW-Authenticate`. What is not well-formed is left out: a stranger wrote it. */
export function challengeOf(response: Response): Challenge {
  const header = response.headers.get("www-authenticate") ?? "";
  const scope = parameter(/[ ,]scope=(?:"([^"]{1,1000})"|([^\s,"]{1,1000}))/.exec(header));
  const metadata = parameter(/[ ,]resource_metadata=(?:"([^"]{1,2000})"|([^\s,"]{1,2000}))/.exec(header));
  return {
    // Only what RFC 6749 allows in a scope, so that it can be shown.
    ...(scope !== undefined && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(scope) ? { scope } : {}),
    ...(metadata !== undefined && URL.canParse(metadata) ? { resourceMetadata: new URL(metadata) } : {}),
  };
}

function parameter(match: RegExpExecArray | null): string | undefined {
  return match?.[1] ?? match?.[2];
}

/** What a person runs to log in to a server. */
export function loginCommand(name: string): string {
  return `toolpipe login ${name}`;
}

/** The error for a server that wants a person to log in. */
export function needsLogin(name: string, why = "asks for a login"): GatewayError {
  return new GatewayError(NEEDS_AUTH, `The server "${name}" ${why}. Run "${loginCommand(name)}".`, {
    data: { server: name, login: loginCommand(name) },
  });
}

/** Milliseconds to wait, from a number of seconds or a date; at most a day. */
function retryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(Math.round(ms), 0), 86_400_000);
}
