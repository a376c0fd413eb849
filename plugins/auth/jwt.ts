import type { JWTPayload, JWTVerifyGetKey } from "jose";
import { type Actor, GatewayError } from "../../core/mod.ts";
import type { Authenticator } from "./authenticator.ts";
import { AUTH_UNAVAILABLE, UNAUTHENTICATED } from "./errors.ts";

/** Whose tokens are taken, and for what. */
export interface JwtOptions {
  /** Who must have made the token. */
  readonly issuer: string;
  /** For whom it must be made: this gateway's own address, as a rule. A token for another service never counts. */
  readonly audience: string;
  /** Where the keys of the issuer are. */
  readonly jwks: string;
  /** How it may be signed; by keys of two halves alone. */
  readonly algorithms?: readonly string[] | undefined;
  /** By how many seconds the clocks of the two may differ; 30 by default. */
  readonly clockSkewSeconds?: number | undefined;
  /** Which claim names the caller; `sub` by default. */
  readonly actorClaim?: string | undefined;
  /** Put before the name, so that callers of two issuers are never taken for one another. */
  readonly actorPrefix?: string | undefined;
}

/** Symmetric ones would make everybody who can check a token able to make one. */
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

/** Knows tokens that an issuer has signed. Its keys are fetched when they are first needed, and when an unknown one is named. */
export function jwtTokens(options: JwtOptions): Authenticator {
  const { issuer, audience, jwks, algorithms = safeAlgorithms, clockSkewSeconds = 30 } = options;
  let keys: JWTVerifyGetKey | undefined;
  return {
    async actorOf(token) {
      // Three parts with dots between them: anything else is none of these.
      if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
      const jose = await import("jose");
      keys ??= jose.createRemoteJWKSet(new URL(jwks), { timeoutDuration: KEYS_MS, cooldownDuration: 10_000 });
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
      const { id, scopes } = actorIn(payload, options.actorClaim ?? "sub");
      return { id: `${options.actorPrefix ?? ""}${id}`, scopes };
    },
  };
}

/** Says what is wrong without a word of the token. */
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

function actorIn(payload: JWTPayload, claim: string): Actor {
  const id = payload[claim];
  if (typeof id !== "string" || id === "" || id.length > 256) {
    throw new GatewayError(UNAUTHENTICATED, `The token does not count: it has no claim "${claim}".`);
  }
  return { id, scopes: scopesIn(payload) };
}

/** Issuers write them as a text with spaces (`scope`), or as a list (`scp`, `scopes`). */
function scopesIn(payload: JWTPayload): readonly string[] {
  const { scope, scp, scopes } = payload as Record<string, unknown>;
  for (const value of [scope, scp, scopes]) {
    if (typeof value === "string") return value.split(/\s+/).filter(Boolean);
    if (Array.isArray(value)) return value.filter((each): each is string => typeof each === "string");
  }
  return [];
}
