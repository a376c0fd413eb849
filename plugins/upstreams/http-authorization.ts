import { GatewayError } from "../../core/mod.ts";
import type { HttpConnection } from "../sources/server-config.ts";
import { MISSING_VARIABLE, NEEDS_AUTH } from "./errors.ts";
import { needsLogin } from "./http-errors.ts";
import { type Authorization, type OAuthSettings, oauthSession } from "./oauth.ts";
import { oauthFetch } from "./oauth-fetch.ts";
import { tokenStore } from "./token-store.ts";

/** Where what proves who we are can come from. */
export interface AuthorizationOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** Where logins are kept; without it there are none. */
  readonly stateFolder?: string | undefined;
  /** Whose login is used; `local` by default. */
  readonly person?: string | undefined;
  readonly oauth?: OAuthSettings | undefined;
  /** Where the variable is looked up that holds a bearer token; our own environment by default. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** What a definition says comes first, then a login that a person made, then nothing. */
export function authorizationOf(connection: HttpConnection, options: AuthorizationOptions): Authorization {
  const { name, stateFolder, person = "local", oauth, env = process.env } = options;
  const { bearerEnv, headers } = connection;
  if (bearerEnv !== undefined) {
    const token = env[bearerEnv];
    if (!token) {
      const message = `The server "${name}" cannot be used: the variable ${bearerEnv}, which holds its token, is not set.`;
      throw new GatewayError(MISSING_VARIABLE, message, { data: { server: name, variable: bearerEnv } });
    }
    return fixed(name, `Bearer ${token}`);
  }
  const url = new URL(connection.url);
  const hasOwn = Object.keys(headers).some((header) => header.toLowerCase() === "authorization");
  if (hasOwn || url.username !== "") return fixed(name, undefined);
  if (stateFolder === undefined) return none(name);
  const key = { url: url.href, person };
  return oauthSession({ name, key, store: tokenStore(stateFolder), settings: oauth, fetch: oauthFetch(url) });
}

/** A token that stands in the configuration; if it is not accepted, only a person can change it. */
function fixed(name: string, value: string | undefined): Authorization {
  return {
    header: async () => value,
    async refused() {
      const message = `The server "${name}" does not accept the token or password it is configured with.`;
      throw new GatewayError(NEEDS_AUTH, message, { data: { server: name } });
    },
  };
}

function none(name: string): Authorization {
  return {
    header: async () => undefined,
    async refused() {
      throw needsLogin(name);
    },
  };
}
