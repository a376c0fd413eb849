import { defineError, type ErrorKind, GatewayError } from "../../../core/mod.ts";
import {
  CONNECT_FAILED,
  NEEDS_AUTH,
  RESPONSE_TOO_LARGE,
  TLS_ERROR,
  UPSTREAM_CLOSED,
  UPSTREAM_ERROR,
} from "../../../core/services/servers.ts";
import { quoteForShell } from "../terminal/output.ts";

export const SSRF_BLOCKED: ErrorKind = defineError("SSRF_BLOCKED", {
  spec: "SERVER_CONNECTION_ERROR",
  exit: 4,
  description: "A request led to an address that is not on the public internet.",
});

/** Removes the user and the query from a URL: they may hold secrets. */
export function stripUrl(url: string | URL): string {
  const { origin, pathname } = new URL(url);
  return `${origin}${pathname}`;
}

/** Creates the error for an answer that is larger than allowed. */
export function tooLarge(maxBytes: number): GatewayError {
  return new GatewayError(RESPONSE_TOO_LARGE, `The server's answer is larger than ${maxBytes} bytes.`, {
    data: { maxBytes },
  });
}

const insecure =
  /CERT|_SSL_|ERR_TLS|EPROTO|SSL routines|invalid peer certificate|corrupt message|fatal alert|peer is incompatible/;
const unreachable: readonly (readonly [RegExp, string])[] = [
  [/ECONNREFUSED|connection refused/i, "the connection was refused"],
  [/ENOTFOUND|EAI_AGAIN|dns error/i, "its name is not known"],
  [/EHOSTUNREACH|ENETUNREACH|unreachable/i, "there is no route to it"],
  [/ETIMEDOUT|UND_ERR_CONNECT_TIMEOUT/, "it did not answer in time"],
  [/client error \(Connect\)/, "no connection could be opened"],
];

/** Translates the error of a failed request; each runtime words its own. `proxy` is the host of a proxy in between. */
export function toNetworkError(thrown: unknown, url: URL, proxy?: string): GatewayError {
  if (GatewayError.is(thrown)) return thrown;
  const text = collectMessages(thrown);
  // Not the error itself: its message may repeat the whole URL.
  const options = { cause: new Error(text) };
  const refusal = /Proxy response \((\d+)\)|Proxy Authentication Required \((407)\)/.exec(text);
  if (refusal) {
    const status = refusal[1] ?? refusal[2];
    const remedy = status === "407" ? " Put a user and password into the URL of the proxy." : "";
    const message = `The proxy ${proxy ?? ""} refuses to connect to ${url.host} (HTTP ${status}).${remedy}`;
    return new GatewayError(CONNECT_FAILED, message.replace("  ", " "), {
      ...options,
      data: { sent: false },
    });
  }
  if (url.protocol === "https:" && insecure.test(text)) {
    return new GatewayError(TLS_ERROR, `No secure connection to ${url.host} could be made.`, options);
  }
  for (const [pattern, reason] of unreachable) {
    if (!pattern.test(text)) continue;
    const way = proxy === undefined ? "" : ` The environment names a proxy, ${proxy}.`;
    return new GatewayError(
      CONNECT_FAILED,
      `The server at ${url.host} cannot be reached: ${reason}.${way}`,
      options,
    );
  }
  return new GatewayError(
    UPSTREAM_CLOSED,
    `The connection to ${url.host} ended before the answer arrived.`,
    options,
  );
}

/** Adds whether the request may have been acted upon. */
export function withSent(error: GatewayError, sent: boolean): GatewayError {
  const { kind, message, cause, data } = error;
  return new GatewayError(kind, message, { cause, data: { ...data, sent } });
}

function collectMessages(thrown: unknown): string {
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

/** Creates the error for a status that no protocol step can use; undefined if the answer is worth reading. */
export function toStatusError(response: Response, name: string): GatewayError | undefined {
  const { status } = response;
  if (status === 403) return toForbiddenError(response, name);
  if (status !== 429 && status < 500) return undefined;
  const retryAfterMs = parseRetryDelay(response.headers.get("retry-after"));
  const retryable = status !== 500 && status !== 501;
  const data = { status, retryable, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) };
  const reason = status === 429 ? "too many requests" : "the server failed";
  return new GatewayError(UPSTREAM_ERROR, `The server "${name}" answered HTTP ${status}: ${reason}.`, {
    data,
  });
}

/** Creates the error for a status that has no meaning in the protocol. */
export function unexpectedStatus(status: number, name: string): GatewayError {
  return new GatewayError(UPSTREAM_ERROR, `The server "${name}" answered HTTP ${status}.`, {
    data: { status },
  });
}

function toForbiddenError(response: Response, name: string): GatewayError {
  const { scope } = parseChallenge(response);
  if (scope === undefined) {
    const message = `The server "${name}" refused the request (HTTP 403): the login or token does not allow it.`;
    return new GatewayError(UPSTREAM_ERROR, message, { data: { status: 403 } });
  }
  const login = loginCommand(name);
  return new GatewayError(
    NEEDS_AUTH,
    `The server "${name}" refused the request: it needs the scope "${scope}". Run "${login}".`,
    { data: { server: name, status: 403, scope, login } },
  );
}

/** Login that a server asks for in `WWW-Authenticate`. */
export interface Challenge {
  readonly scope?: string;
  readonly resourceMetadata?: URL;
}

/** Reads `WWW-Authenticate`. Malformed parts are left out: the header is foreign input. */
export function parseChallenge(response: Response): Challenge {
  const header = response.headers.get("www-authenticate") ?? "";
  const scope = parameter(/[ ,]scope=(?:"([^"]{1,1000})"|([^\s,"]{1,1000}))/.exec(header));
  const metadata = parameter(/[ ,]resource_metadata=(?:"([^"]{1,2000})"|([^\s,"]{1,2000}))/.exec(header));
  return {
    // Only characters that RFC 6749 allows in a scope, so that messages can quote it.
    ...(scope !== undefined && /^[\x20\x21\x23-\x5b\x5d-\x7e]+$/.test(scope) ? { scope } : {}),
    ...(metadata !== undefined && URL.canParse(metadata) ? { resourceMetadata: new URL(metadata) } : {}),
  };
}

function parameter(match: RegExpExecArray | null): string | undefined {
  return match?.[1] ?? match?.[2];
}

function loginCommand(name: string): string {
  return `toolpipe login ${quoteForShell(name)}`;
}

/** Creates the error for a server that asks the user to log in. */
export function needsLogin(name: string, why = "asks for a login"): GatewayError {
  const login = loginCommand(name);
  return new GatewayError(NEEDS_AUTH, `The server "${name}" ${why}. Run "${login}".`, {
    data: { server: name, login },
  });
}

/** Parses seconds or a date into milliseconds, at most a day. */
function parseRetryDelay(header: string | null): number | undefined {
  if (header === null) return undefined;
  const text = header.trim();
  const ms = /^\d{1,12}$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.min(Math.max(Math.round(ms), 0), 86_400_000);
}
