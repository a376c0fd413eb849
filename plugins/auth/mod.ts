import * as v from "valibot";
import { type Actor, definePlugin, GatewayError, localUser } from "../../core/mod.ts";
import type { Authenticator } from "../../core/services/http.ts";
import { option } from "../lib/options.ts";
import {
  AUTH_UNAVAILABLE,
  createJwtAuthenticator,
  createTokenAuthenticator,
  INSUFFICIENT_SCOPE,
  type JwtOptions,
  jwtIssuer,
  nonEmpty,
  secureUrl,
  staticToken,
  UNAUTHENTICATED,
} from "./authenticators.ts";
import { resourceMetadata } from "./resource-metadata.ts";

export type { Auth } from "../../core/services/http.ts";
export {
  AUTH_UNAVAILABLE,
  INSUFFICIENT_SCOPE,
  type JwtOptions,
  type StaticToken,
  UNAUTHENTICATED,
} from "./authenticators.ts";

const options = v.strictObject({
  tokens: option(v.array(staticToken), "Accepted tokens by their hashes; `toolpipe token` makes one."),
  jwt: option(v.array(jwtIssuer), "Issuers whose tokens are accepted."),
  requiredScopes: option(v.array(nonEmpty), "Scopes that every caller needs."),
  resource: option(
    secureUrl,
    "URL by which clients know this gateway, if it is not the one that it is served at.",
  ),
  authenticators: option(
    v.array(
      v.union(
        [v.custom<Authenticator>(isAuthenticator), nonEmpty],
        "an authenticator, the name of one, or the path of a module",
      ),
    ),
    "Authenticators for other kinds of tokens: names of registered ones, or paths of modules that export one.",
  ),
});

/** Options of {@link auth}. */
export type AuthOptions = v.InferInput<typeof options>;

/** Longest `Authorization` header that is read. */
const LONGEST = 16_384;

/**
 * Requires a token of every caller over HTTP. Without options it does nothing; with an empty list of tokens it refuses
 * every caller.
 */
export const auth = definePlugin({
  name: "auth",
  uses: [],
  provides: ["auth"],
  keys: ["auth"],
  options,
  errors: { UNAUTHENTICATED, INSUFFICIENT_SCOPE, AUTH_UNAVAILABLE },
  setup(gateway, given) {
    if (Object.values(given).every((option) => option === undefined)) return;
    const { tokens = [], jwt = [], requiredScopes = [], resource, authenticators = [] } = given;
    checkPrefixes(jwt);
    const names = new Set([localUser.id, ...tokens.map(({ actor }) => actor)]);
    const all = [
      createTokenAuthenticator(tokens),
      ...jwt.map((one) => {
        // A subject may hold any text, also the prefix of another issuer.
        const longer = jwt
          .map(({ actorPrefix = "" }) => actorPrefix)
          .filter((prefix) => isLonger(prefix, one.actorPrefix));
        return refuseTaken(
          createJwtAuthenticator(one),
          (id) => names.has(id) || longer.some((prefix) => id.startsWith(prefix)),
        );
      }),
    ];
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
          all.push(refuseTaken(own, (id) => id === localUser.id));
        }
      },
    };
  },
});

function isAuthenticator(value: unknown): value is Authenticator {
  return typeof (value as Partial<Authenticator> | null | undefined)?.findActor === "function";
}

function notAnAuthenticator(name: string): GatewayError {
  return new GatewayError(
    "CONFIG_INVALID",
    `auth.authenticators: expected "${name}" to export an object with the method "findActor".`,
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

function isLonger(prefix: string, own = ""): boolean {
  return prefix.length > own.length && prefix.startsWith(own);
}

/**
 * Refuses names that belong to others: the local user, who may do everything by default, callers with a token of the
 * config, and those of another issuer. Under such a name a caller would have their approvals, results and keys.
 */
function refuseTaken(authenticator: Authenticator, isTaken: (id: string) => boolean): Authenticator {
  return {
    async findActor(token) {
      const actor = await authenticator.findActor(token);
      if (!actor || !isTaken(actor.id)) return actor;
      const whose =
        actor.id === localUser.id
          ? "of the local user."
          : 'of another caller. Give its issuer an "actorPrefix".';
      throw new GatewayError(UNAUTHENTICATED, `The token does not count: "${actor.id}" is the name ${whose}`);
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

/** Asks one authenticator after another. If all fail, the last failure is thrown. */
async function findActor(all: readonly Authenticator[], token: string): Promise<Actor> {
  let failure: unknown;
  for (const authenticator of all) {
    try {
      const actor = await authenticator.findActor(token);
      if (actor) return actor;
    } catch (thrown) {
      failure = thrown;
    }
  }
  throw (
    failure ?? new GatewayError(UNAUTHENTICATED, "The token is not known here.", { data: { why: "unknown" } })
  );
}
