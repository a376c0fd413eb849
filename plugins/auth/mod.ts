import * as v from "valibot";
import { type Actor, definePlugin, GatewayError, localUser, type PluginFactory } from "../../core/mod.ts";
import type { Authenticator } from "../../core/services/auth.ts";
import { INSUFFICIENT_SCOPE, UNAUTHENTICATED } from "./errors.ts";
import { createJwtAuthenticator, type JwtOptions, safeAlgorithms } from "./jwt.ts";
import { resourceMetadata } from "./resource-metadata.ts";
import { createTokenAuthenticator, type StaticToken } from "./static-tokens.ts";

export type { Auth, Authenticator, ResourceMetadata } from "../../core/services/auth.ts";
export { AUTH_UNAVAILABLE, INSUFFICIENT_SCOPE, UNAUTHENTICATED } from "./errors.ts";
export type { JwtOptions } from "./jwt.ts";
export type { StaticToken } from "./static-tokens.ts";

/** Options for the auth plugin. */
export interface AuthOptions {
  /** Tokens by their hashes; `toolpipe token` makes one. */
  readonly tokens?: readonly StaticToken[];
  /** Issuers whose tokens are accepted. */
  readonly jwt?: readonly JwtOptions[];
  /** Scopes that every caller needs; none by default. */
  readonly requiredScopes?: readonly string[];
  /** The URL by which clients know this gateway, if it is not the one that it is served at. */
  readonly resource?: string;
  /** Authenticators for other kinds of tokens: names of registered ones, paths of modules that export one, or objects. */
  readonly authenticators?: readonly (string | Authenticator)[];
}

const text = v.pipe(v.string(), v.minLength(1, "a text"));
const secureUrl = v.pipe(
  v.string(),
  v.check(isSecure, "an address that begins with https:// (or http:// on this machine)"),
);
const options = v.strictObject({
  tokens: v.optional(
    v.array(
      v.strictObject({
        sha256: v.pipe(
          v.string(),
          v.regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits, as `toolpipe token` prints them"),
        ),
        actor: text,
        scopes: v.optional(v.array(text)),
        expires: v.optional(v.pipe(v.string(), v.isoTimestamp("a moment such as 2027-01-31T00:00:00Z"))),
      }),
    ),
  ),
  jwt: v.optional(
    v.array(
      v.strictObject({
        issuer: text,
        audience: text,
        jwks: secureUrl,
        algorithms: v.optional(v.array(v.picklist(safeAlgorithms))),
        clockSkewSeconds: v.optional(v.pipe(v.number(), v.minValue(0), v.maxValue(300))),
        actorClaim: v.optional(text),
        actorPrefix: v.optional(v.string()),
      }),
    ),
  ),
  requiredScopes: v.optional(v.array(text)),
  resource: v.optional(secureUrl),
  authenticators: v.optional(
    v.array(
      v.union(
        [v.custom<Authenticator>(isAuthenticator), text],
        "an authenticator, the name of one, or the path of a module",
      ),
    ),
  ),
});

/** Longest `Authorization` header that is read. */
const LONGEST = 16_384;

/**
 * Requires a token of every caller over HTTP. Without options it does nothing; with an empty list of tokens it refuses
 * every caller.
 */
export const auth: PluginFactory<"auth", AuthOptions> = definePlugin({
  name: "auth",
  uses: [],
  provides: ["auth"],
  keys: ["auth"],
  options: options as v.GenericSchema<AuthOptions>,
  setup(gateway, given) {
    if (Object.values(given).every((option) => option === undefined)) return;
    const { tokens = [], jwt = [], requiredScopes = [], resource, authenticators = [] } = given;
    checkPrefixes(jwt);
    const all = [createTokenAuthenticator(tokens), ...jwt.map(createJwtAuthenticator).map(neverLocal)];
    const issuers = [...new Set(jwt.map(({ issuer }) => issuer))];

    gateway.provide("auth", {
      metadata: resourceMetadata({ resource, issuers, scopes: requiredScopes }),
      async authenticate(authorization) {
        const actor = await findActor(all, readToken(authorization));
        const missing = requiredScopes.filter((scope) => !actor.scopes.includes(scope));
        if (missing.length === 0) return actor;
        throw new GatewayError(INSUFFICIENT_SCOPE, `The token lacks the scope ${missing.join(", ")}.`, {
          data: { missing },
        });
      },
    });
    return {
      // Before any request, and once every plugin has registered its own.
      async ready() {
        for (const choice of authenticators) {
          const own = typeof choice === "string" ? await gateway.driver("authenticator", choice) : choice;
          if (!isAuthenticator(own)) throw notAnAuthenticator(String(choice));
          all.push(neverLocal(own));
        }
      },
    };
  },
});

function isAuthenticator(value: unknown): value is Authenticator {
  return typeof (value as Partial<Authenticator> | null | undefined)?.actorOf === "function";
}

function notAnAuthenticator(name: string): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `auth.authenticators: expected "${name}" to export an object with the method "actorOf".`,
  );
}

/** Refuses two issuers without distinct prefixes: callers of one name would share approvals, results and limits. */
function checkPrefixes(jwt: readonly JwtOptions[]): void {
  const byPrefix = new Map<string, string>();
  for (const { issuer, actorPrefix = "" } of jwt) {
    const other = byPrefix.get(actorPrefix);
    if (other !== undefined && other !== issuer) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `auth.jwt: the issuers "${other}" and "${issuer}" could give one name to two callers. Give one of them an "actorPrefix".`,
      );
    }
    byPrefix.set(actorPrefix, issuer);
  }
}

/** Refuses the name of the local user, who may do everything by default. */
function neverLocal(authenticator: Authenticator): Authenticator {
  return {
    async actorOf(token) {
      const actor = await authenticator.actorOf(token);
      if (actor?.id !== localUser.id) return actor;
      throw new GatewayError(
        UNAUTHENTICATED,
        `The token does not count: "${actor.id}" is the name of the local user.`,
      );
    },
  };
}

function readToken(authorization: string | undefined): string {
  const token = /^Bearer +([\w.~+/-]+=*)$/i.exec(authorization?.slice(0, LONGEST) ?? "")?.[1];
  if (token !== undefined) return token;
  throw new GatewayError(
    UNAUTHENTICATED,
    authorization === undefined
      ? "This gateway needs a token: send it as Authorization: Bearer …"
      : "The Authorization header holds no bearer token.",
    { data: { why: authorization === undefined ? "missing" : "malformed" } },
  );
}

/** Asks each authenticator; of several failures the last is thrown. */
async function findActor(all: readonly Authenticator[], token: string): Promise<Actor> {
  let failure: unknown;
  for (const authenticator of all) {
    try {
      const actor = await authenticator.actorOf(token);
      if (actor) return actor;
    } catch (thrown) {
      failure = thrown;
    }
  }
  throw (
    failure ?? new GatewayError(UNAUTHENTICATED, "The token is not known here.", { data: { why: "unknown" } })
  );
}

function isSecure(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return (
    protocol === "https:" ||
    (protocol === "http:" && /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
  );
}
