import * as v from "valibot";
import { type Actor, definePlugin, GatewayError, localUser, type PluginFactory } from "../../core/mod.ts";
import type { Authenticator } from "./authenticator.ts";
import { INSUFFICIENT_SCOPE, UNAUTHENTICATED } from "./errors.ts";
import { type JwtOptions, jwtTokens, safeAlgorithms } from "./jwt.ts";
import { type ResourceMetadata, resourceMetadata } from "./resource-metadata.ts";
import { type StaticToken, staticTokens } from "./static-tokens.ts";

export type { Authenticator } from "./authenticator.ts";
export { AUTH_UNAVAILABLE, INSUFFICIENT_SCOPE, UNAUTHENTICATED } from "./errors.ts";
export type { JwtOptions } from "./jwt.ts";
export type { ResourceMetadata } from "./resource-metadata.ts";
export type { StaticToken } from "./static-tokens.ts";

/** Finds out who calls. */
export interface Auth {
  /** Who the caller is by the `Authorization` header. Throws `UNAUTHENTICATED` or `INSUFFICIENT_SCOPE`. */
  authenticate(authorization: string | undefined): Promise<Actor>;
  /** What a client is told that has to find out where to get a token, and which scopes it needs. */
  readonly metadata: ResourceMetadata;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `auth`. */
    auth?: Auth;
  }
}

/** The options of {@link auth}. */
export interface AuthOptions {
  /** Tokens that were given out by hand, by their hashes; `toolpipe token` makes one. */
  readonly tokens?: readonly StaticToken[];
  /** Issuers whose tokens count. */
  readonly jwt?: readonly JwtOptions[];
  /** What every caller needs; nothing by default. */
  readonly requiredScopes?: readonly string[];
  /** The address under which clients know this gateway, where it is not the one that it is served at. */
  readonly resource?: string;
  /** Knows other tokens. */
  readonly authenticators?: readonly Authenticator[];
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
      v.custom<Authenticator>(
        (value) => typeof (value as Partial<Authenticator> | null)?.actorOf === "function",
        "an authenticator",
      ),
    ),
  ),
});

/** More than this is no token. */
const LONGEST = 16_384;

/**
 * Lets nobody in over HTTP who does not show a token that counts. Without any option it does nothing; with one that
 * names nobody, nobody comes in.
 */
export const auth: PluginFactory<"auth", AuthOptions> = definePlugin({
  name: "auth",
  keys: ["auth"],
  options: options as v.GenericSchema<AuthOptions>,
  setup(gateway, given) {
    if (Object.values(given).every((option) => option === undefined)) return;
    const { tokens = [], jwt = [], requiredScopes = [], resource, authenticators = [] } = given;
    checkPrefixes(jwt);
    const all = [staticTokens(tokens), ...[...jwt.map(jwtTokens), ...authenticators].map(neverLocal)];
    const issuers = [...new Set(jwt.map(({ issuer }) => issuer))];

    gateway.services.auth = {
      metadata: resourceMetadata({ resource, issuers, scopes: requiredScopes }),
      async authenticate(authorization) {
        const actor = await whose(all, tokenIn(authorization));
        const missing = requiredScopes.filter((scope) => !actor.scopes.includes(scope));
        if (missing.length === 0) return actor;
        throw new GatewayError(INSUFFICIENT_SCOPE, `The token lacks the scope ${missing.join(", ")}.`, {
          data: { missing },
        });
      },
    };
  },
});

/** Two issuers may give the same name to two people, who would then share all that is kept by name. */
function checkPrefixes(jwt: readonly JwtOptions[]): void {
  const byPrefix = new Map<string, string>();
  for (const { issuer, actorPrefix = "" } of jwt) {
    const other = byPrefix.get(actorPrefix);
    if (other !== undefined && other !== issuer) {
      throw new GatewayError(
        "CONFIG_INVALID",
        `auth.jwt: the issuers "${other}" and "${issuer}" could give one name to two people. Give one of them an "actorPrefix".`,
      );
    }
    byPrefix.set(actorPrefix, issuer);
  }
}

/** The local user may do everything by default, and whoever comes from elsewhere may have any name. */
function neverLocal({ actorOf }: Authenticator): Authenticator {
  return {
    async actorOf(token) {
      const actor = await actorOf(token);
      if (actor?.id !== localUser.id) return actor;
      throw new GatewayError(
        UNAUTHENTICATED,
        `The token does not count: nobody may be called "${actor.id}".`,
      );
    },
  };
}

function tokenIn(authorization: string | undefined): string {
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

/** Where several issuers are known, the reason of the last one that knew the form of the token is told. */
async function whose(all: readonly Authenticator[], token: string): Promise<Actor> {
  let failure: unknown;
  for (const { actorOf } of all) {
    try {
      const actor = await actorOf(token);
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
