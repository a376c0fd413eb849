import { Buffer } from "node:buffer";
import { GatewayError, isJsonObject } from "../../core/mod.ts";
import { NEEDS_AUTH } from "../../core/services/servers.ts";
import type { Http, HttpResult } from "../lib/http/client.ts";
import { withSent } from "../lib/http/errors.ts";
import type { AskToken, TokenRequest } from "./credentials.ts";

interface Token {
  readonly value: string;
  readonly expiresAt: number;
}

/** A requested or received token. */
interface Held {
  readonly asking: Promise<Token>;
  token: Token | undefined;
}

/** Dependencies of the token store. */
export interface TokensOptions {
  readonly http: Http;
  readonly adapter: string;
  readonly deadlineMs: number;
  /** For tests. */
  readonly now?: () => number;
}

/** Time before its expiry at which a token is renewed: a request takes its time. */
const MARGIN_MS = 30_000;
const MAX_BYTES = 100_000;

/** The tokens of an adapter. */
export interface Tokens {
  readonly ask: AskToken;
  /** Forgets them, because one was refused. */
  forget(): void;
}

/** Keeps tokens until they end. Of several that need one at once, one asks. */
export function createTokens({ http, adapter, deadlineMs, now = Date.now }: TokensOptions): Tokens {
  const known = new Map<string, Held>();
  return {
    forget: () => known.clear(),
    async ask(request) {
      const key = JSON.stringify([request.tokenUrl, request.clientId, request.scopes, request.audience]);
      let held = known.get(key);
      if (!held || (held.token && held.token.expiresAt <= now())) {
        held = hold(key, fetchToken(request));
      }
      return (await held.asking).value;
    },
  };

  function hold(key: string, asking: Promise<Token>): Held {
    const held: Held = { asking, token: undefined };
    known.set(key, held);
    asking.then(
      (token) => {
        held.token = token;
      },
      () => {
        if (known.get(key) === held) known.delete(key);
      },
    );
    return held;
  }

  async function fetchToken(request: TokenRequest): Promise<Token> {
    const { tokenUrl, clientId, clientSecret, scopes, audience } = request;
    const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`;
    const form = new URLSearchParams({
      grant_type: "client_credentials",
      ...(scopes.length > 0 && { scope: scopes.join(" ") }),
      ...(audience !== undefined && { audience }),
    });
    const asked = now();
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
      (answer) => tokenIn(answer, asked),
      (thrown: unknown) => {
        // Nothing of the call itself has been sent yet.
        throw withSent(GatewayError.from(thrown), false);
      },
    );
  }

  function tokenIn({ status, body }: HttpResult, asked: number): Token {
    const said = parsed(body.toString());
    const { access_token: value, expires_in: seconds } = said;
    if (status === 200 && typeof value === "string" && /^[\x21-\x7e]+$/.test(value)) {
      const lasts = typeof seconds === "number" && seconds > 0 ? seconds * 1000 : 0;
      return { value, expiresAt: asked + lasts - Math.min(MARGIN_MS, lasts / 10) };
    }
    // The name of a failure is one of a few words; a longer text may repeat what was sent.
    const why =
      typeof said["error"] === "string" && /^[a-z_]{1,40}$/.test(said["error"]) ? said["error"] : "";
    throw new GatewayError(
      NEEDS_AUTH,
      `"${adapter}" got no token (HTTP ${status}${why && `, ${why}`}). Its client id or secret may be wrong.`,
      { data: { adapter, status, sent: false } },
    );
  }
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
