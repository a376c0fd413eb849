import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { type Actor, GatewayError } from "../../core/mod.ts";
import type { Authenticator } from "../../core/services/auth.ts";
import { createHttp } from "../lib/http/client.ts";
import { AUTH_UNAVAILABLE, UNAUTHENTICATED } from "./errors.ts";

/** An issuer whose tokens are accepted. */
export interface JwtOptions {
  /** The `iss` that a token must have. */
  readonly issuer: string;
  /** The `aud` that a token must have, usually the URL of this gateway. Tokens for other services are refused. */
  readonly audience: string;
  /** The URL of the issuer's keys (JWKS). */
  readonly jwks: string;
  /** Accepted signature algorithms; all asymmetric ones by default. */
  readonly algorithms?: readonly string[] | undefined;
  /** Accepted clock skew in seconds; 30 by default. */
  readonly clockSkewSeconds?: number | undefined;
  /** The claim that names the caller; `sub` by default. */
  readonly actorClaim?: string | undefined;
  /** Prefix of the name, so that callers of two issuers are never taken for one another. */
  readonly actorPrefix?: string | undefined;
}

/** Asymmetric algorithms: with a symmetric one, whatever can check a token could make one. */
export const safeAlgorithms: readonly string[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "Ed25519",
];

const KEYS_MS = 5_000;
const KEYS_BYTES = 1_000_000;

/** Accepts tokens that an issuer has signed. Its keys are loaded on first use, and when a token names an unknown one. */
export function createJwtAuthenticator(options: JwtOptions): Authenticator {
  const { issuer, audience, jwks, algorithms = safeAlgorithms, clockSkewSeconds = 30 } = options;
  const http = createHttp({ maxBytes: KEYS_BYTES, deadlineMs: KEYS_MS });
  let keys: JWTVerifyGetKey | undefined;
  return {
    async actorOf(token) {
      // A JWT has three parts, separated by dots.
      if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
      const jose = await import("jose");
      keys ??= jose.createRemoteJWKSet(new URL(jwks), {
        timeoutDuration: KEYS_MS,
        cooldownDuration: 10_000,
        [jose.customFetch]: http.fetch,
      });
      let payload: JWTPayload;
      try {
        ({ payload } = await jose.jwtVerify(token, keys, {
          issuer,
          audience,
          algorithms: [...algorithms],
          clockTolerance: clockSkewSeconds,
          requiredClaims: ["exp"],
        }));
      } catch (cause) {
        throw refused(cause);
      }
      const { id, scopes } = readActor(payload, options.actorClaim ?? "sub");
      return { id: `${options.actorPrefix ?? ""}${id}`, scopes };
    },
  };
}

/** Explains the failure without repeating any of the token. */
function refused(cause: unknown): GatewayError {
  const code = String((cause as { code?: unknown } | null)?.code ?? "");
  const claim = String((cause as { claim?: unknown } | null)?.claim ?? "");
  if (code === "ERR_JWKS_TIMEOUT" || code === "ERR_JWKS_INVALID" || !code.startsWith("ERR_J")) {
    return new GatewayError(
      AUTH_UNAVAILABLE,
      "The token cannot be checked: the keys of its issuer cannot be fetched now.",
      { cause },
    );
  }
  const why =
    code === "ERR_JWT_EXPIRED"
      ? "it has expired"
      : claim === "aud"
        ? "it was made for another service"
        : claim === "iss"
          ? "it was made by another issuer"
          : claim === "nbf"
            ? "it does not count yet"
            : claim === "exp"
              ? "it never expires"
              : "its signature is not right";
  return new GatewayError(UNAUTHENTICATED, `The token does not count: ${why}.`, { cause, data: { why } });
}

function readActor(payload: JWTPayload, claim: string): Actor {
  const id = payload[claim];
  if (typeof id !== "string" || id === "" || id.length > 256) {
    throw new GatewayError(UNAUTHENTICATED, `The token does not count: it has no claim "${claim}".`);
  }
  return { id, scopes: readScopes(payload) };
}

/** Reads scopes: a string with spaces (`scope`), or a list (`scp`, `scopes`). */
function readScopes(payload: JWTPayload): readonly string[] {
  const { scope, scp, scopes } = payload as Record<string, unknown>;
  for (const value of [scope, scp, scopes]) {
    if (typeof value === "string") return value.split(/\s+/).filter(Boolean);
    if (Array.isArray(value)) return value.filter((each): each is string => typeof each === "string");
  }
  return [];
}
