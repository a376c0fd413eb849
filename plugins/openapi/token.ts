import { Buffer } from "node:buffer";
import { GatewayError } from "../../core/mod.ts";
import { NEEDS_AUTH } from "../../core/services/servers.ts";
import type { Http, HttpResult } from "../lib/http/client.ts";
import { withSent } from "../lib/http/errors.ts";
import { parseJsonObject } from "../lib/json.ts";
import type { FetchToken, TokenRequest } from "./credentials.ts";

interface Token {
  readonly value: string;
  readonly expiresAt: number;
}

/** A requested or received token. */
interface TokenEntry {
  readonly pending: Promise<Token>;
  token: Token | undefined;
}

/** Time before its expiry at which a token is renewed, so that it is valid when the request arrives. */
const MARGIN_MS = 30_000;
const MAX_BYTES = 100_000;

/** The tokens of an adapter. */
interface Tokens {
  readonly get: FetchToken;
  /** Drops all tokens, because one was refused. */
  clear(): void;
}

/** Caches tokens until they expire. Concurrent calls share one request. */
export function createTokens({
  http,
  adapter,
  deadlineMs,
  now = Date.now,
}: {
  http: Http;
  adapter: string;
  deadlineMs: number;
  now?: () => number;
}): Tokens {
  const known = new Map<string, TokenEntry>();
  return {
    clear: () => known.clear(),
    async get(request) {
      const key = JSON.stringify([request.tokenUrl, request.clientId, request.scopes, request.audience]);
      let entry = known.get(key);
      if (!entry || (entry.token && entry.token.expiresAt <= now())) {
        entry = addEntry(key, fetchToken(request));
      }
      return (await entry.pending).value;
    },
  };

  function addEntry(key: string, pending: Promise<Token>): TokenEntry {
    const entry: TokenEntry = { pending, token: undefined };
    known.set(key, entry);
    pending.then(
      (token) => {
        entry.token = token;
      },
      () => {
        if (known.get(key) === entry) known.delete(key);
      },
    );
    return entry;
  }

  async function fetchToken(request: TokenRequest): Promise<Token> {
    const { tokenUrl, clientId, clientSecret, scopes, audience } = request;
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(audience !== undefined && { audience }),
    });
    const askedAt = now();
    const answered = http.send(
      {
        method: "POST",
        url: new URL(tokenUrl),
        headers: {
          accept: "application/json",
          authorization: `Basic ${Buffer.from(pair).toString("base64")}`,
          "content-type": "application/x-www-form-urlencoded",
        },
        body: form.toString(),
      },
      { maxBytes: MAX_BYTES, deadlineMs },
    );
    return answered.then(
      (answer) => readToken(answer, askedAt),
      (thrown: unknown) => {
        // Nothing of the call itself has been sent yet.
        throw withSent(GatewayError.from(thrown), false);
      },
    );
  }

  function readToken({ status, body }: HttpResult, askedAt: number): Token {
    const reply = parseJsonObject(body.toString()) ?? {};
    const { access_token: value, expires_in: seconds } = reply;
    if (status === 200 && typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) {
      const lasts = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : 0;
      return { value, expiresAt: askedAt + lasts - Math.min(MARGIN_MS, lasts / 10) };
    }
    // An error code is a single word; a longer string may repeat the secret that was sent.
    const why =
      typeof reply["error"] === "string" && /^[a-z_]{1,40}$/.test(reply["error"]) ? reply["error"] : "";
    throw new GatewayError(
      NEEDS_AUTH,
      `"${adapter}" got no token (HTTP ${status}${why && `, ${why}`}). Its client id or secret may be wrong.`,
      { data: { adapter, status, sent: false } },
    );
  }
}
