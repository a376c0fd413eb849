import { timingSafeEqual } from "node:crypto";
import type { JWTPayload, JWTVerifyGetKey } from "jose";
import * as v from "valibot";
import { type Actor, defineError, type ErrorKind, GatewayError } from "../../core/mod.ts";
import type { Authenticator } from "../../core/services/http.ts";
import { sha256Hex } from "../lib/hash.ts";
import { isLoopback } from "../lib/http/server-request.ts";
import { option } from "../lib/options.ts";

export const UNAUTHENTICATED: ErrorKind = defineError("UNAUTHENTICATED", {
  rpc: -32001,
  description: "The request has no token, or none that is accepted.",
});
export const INSUFFICIENT_SCOPE: ErrorKind = defineError("INSUFFICIENT_SCOPE", {
  rpc: -32001,
  description: "The caller is known, and lacks a scope that this gateway requires.",
});
export const AUTH_UNAVAILABLE: ErrorKind = defineError("AUTH_UNAVAILABLE", {
  retry: true,
  description: "The keys to check a token with cannot be loaded now.",
});

/** A string that is not empty. */
export const nonEmpty = v.pipe(v.string(), v.minLength(1, "a text"));

/** The URL of a service that tokens or keys are exchanged with. */
export const secureUrl = v.pipe(
  v.string(),
  v.check(isSecure, "an address that begins with https:// (or http:// on this machine)"),
);

/** A token in the config, which holds its hash only. */
export const staticToken = v.strictObject({
  sha256: v.pipe(
    v.string(),
    v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits, as `toolpipe token` prints them"),
    v.description("SHA-256 of the token, as `toolpipe token` prints it."),
  ),
  actor: v.pipe(nonEmpty, v.description("Name of the caller who has the token.")),
  scopes: option(v.array(nonEmpty), "Scopes of the caller."),
  expires: option(
    v.pipe(v.string(), v.isoTimestamp("a moment such as 2027-01-31T00:00:00Z")),
    "Time after which the token is refused, such as 2027-01-31T00:00:00Z.",
  ),
});

/** A token in the config, which holds its hash only. */
export type StaticToken = v.InferInput<typeof staticToken>;

/**
 * Accepts tokens of the config. They are long and random, so a plain hash reveals nothing about them; all are compared,
 * each in constant time, so the time of an answer reveals nothing either.
 */
export function createTokenAuthenticator(
  tokens: readonly StaticToken[],
  now: () => number = Date.now,
): Authenticator {
  const known = tokens.map(({ sha256, actor, scopes = [], expires }) => ({
    hash: Buffer.from(sha256, "hex"),
    actor: Object.freeze({ id: actor, scopes: Object.freeze([...scopes]) }),
    until: expires === undefined ? Number.POSITIVE_INFINITY : Date.parse(expires),
  }));
  return {
    findActor(token) {
      const hash = Buffer.from(sha256Hex(token), "hex");
      const [found] = known.filter((each) => timingSafeEqual(each.hash, hash));
      return found && now() < found.until ? found.actor : undefined;
    },
  };
}

/** Asymmetric algorithms: with a symmetric one, whatever can check a token could make one. */
const safeAlgorithms: readonly string[] = [
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

/** An issuer whose tokens are accepted. */
export const jwtIssuer = v.strictObject({
  issuer: v.pipe(nonEmpty, v.description("`iss` that a token must have.")),
  audience: v.pipe(
    nonEmpty,
    v.description(
      "`aud` that a token must have, usually the URL of this gateway. Tokens for other services are refused.",
    ),
  ),
  jwks: v.pipe(secureUrl, v.description("URL of the keys of the issuer (JWKS).")),
  algorithms: option(
    v.array(v.picklist(safeAlgorithms)),
    "Accepted signature algorithms. Without this option, all asymmetric ones.",
  ),
  clockSkewSeconds: option(
    v.pipe(v.number(), v.minValue(0), v.maxValue(300)),
    "Accepted clock skew in seconds.",
    30,
  ),
  actorClaim: option(nonEmpty, "Claim that names the caller.", "sub"),
  actorPrefix: option(
    v.string(),
    "Prefix of the name of the caller, so that callers of two issuers have different names.",
    "",
  ),
});

/** An issuer whose tokens are accepted. */
export type JwtOptions = v.InferInput<typeof jwtIssuer>;

const KEYS_MS = 5_000;
const KEYS_BYTES = 1_000_000;

/** Accepts tokens that an issuer has signed. Its keys are loaded on first use, and when a token names an unknown one. */
export function createJwtAuthenticator(options: v.InferOutput<typeof jwtIssuer>): Authenticator {
  const { issuer, audience, jwks, algorithms = safeAlgorithms, clockSkewSeconds } = options;
  let keys: JWTVerifyGetKey | undefined;
  return {
    async findActor(token) {
      // A JWT has three parts, separated by dots.
      if (!/^[\w-]+\.[\w-]+\.[\w-]+$/.test(token)) return undefined;
      const [jose, { createHttp }] = await Promise.all([import("jose"), import("../lib/http/client.ts")]);
      keys ??= jose.createRemoteJWKSet(new URL(jwks), {
        timeoutDuration: KEYS_MS,
        cooldownDuration: 10_000,
        [jose.customFetch]: createHttp({ maxBytes: KEYS_BYTES, deadlineMs: KEYS_MS }).fetch,
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
      const { id, scopes } = readActor(payload, options.actorClaim);
      return { id: `${options.actorPrefix}${id}`, scopes };
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

function isSecure(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === "https:" || (protocol === "http:" && isLoopback(hostname));
}
