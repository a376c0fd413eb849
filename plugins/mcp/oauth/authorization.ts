import { GatewayError } from "../../../core/mod.ts";
import { MISSING_VARIABLE, NEEDS_AUTH } from "../../../core/services/servers.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { needsLogin } from "../../lib/http/errors.ts";
import { oauthFetch } from "./fetch.ts";
import { type Authorization, type OAuthSettings, oauthSession } from "./session.ts";
import { tokenStore } from "./token-store.ts";

/** The possible sources of an authorization. */
export interface AuthorizationOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** The folder in which logins are kept; without it there are none. */
  readonly stateFolder?: string | undefined;
  /** The user whose login is used; `local` by default. */
  readonly person?: string | undefined;
  readonly oauth?: OAuthSettings | undefined;
  /** The environment with the variable that holds a bearer token; our own by default. */
  readonly env?: Readonly<Record<string, string | undefined>> | undefined;
}

/** Chooses the authorization: that of the definition, or else a login of the user, or else none. */
export function chooseAuthorization(
  connection: HttpConnection,
  options: AuthorizationOptions,
): Authorization {
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

/** A token of the configuration; if it is refused, only the user can change it. */
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
