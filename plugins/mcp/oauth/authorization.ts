import { GatewayError } from "../../../core/mod.ts";
import { CONNECT_FAILED, MISSING_VARIABLE, NEEDS_AUTH } from "../../../core/services/servers.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { createHttp, type Fetch } from "../../lib/http/client.ts";
import { needsLogin } from "../../lib/http/errors.ts";
import { isLoopback } from "../../lib/http/server-request.ts";
import { type Authorization, createOauthSession, type OAuthSettings } from "./session.ts";
import { createTokenStore } from "./token-store.ts";

/** Options of {@link chooseAuthorization}. */
export interface AuthorizationOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** The folder in which logins are kept; without it there are none. */
  readonly stateFolder?: string | undefined;
  /** The user whose login is used; `local` by default. */
  readonly person?: string | undefined;
  readonly oauth?: OAuthSettings | undefined;
  /** Token for a server that asks for one, if the connection has no credential and there is no login. */
  readonly spareToken?: string | undefined;
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
    return createFixed(name, `Bearer ${token}`);
  }
  const url = new URL(connection.url);
  const hasOwn = Object.keys(headers).some((header) => header.toLowerCase() === "authorization");
  if (hasOwn || url.username !== "") return createFixed(name, undefined);
  return addSpareToken(name, createLogin(), options.spareToken);

  function createLogin(): Authorization {
    if (stateFolder === undefined) return createNone(name);
    return createOauthSession({
      name,
      key: { url: url.href, person },
      store: createTokenStore(stateFolder),
      settings: oauth,
      fetch: createOauthFetch(url),
    });
  }
}

/** Sends a token once the server has refused the login, or has asked for one that is not there. */
function addSpareToken(name: string, login: Authorization, token: string | undefined): Authorization {
  if (token === undefined) return login;
  const spare = createFixed(name, `Bearer ${token}`);
  let isRefused = false;
  return {
    ...login,
    header: () => (isRefused ? spare.header() : login.header()),
    async refused(value) {
      const own = `Bearer ${token}`;
      if (value === own) return spare.refused(value);
      try {
        return await login.refused(value);
      } catch (thrown) {
        if (!GatewayError.is(thrown) || thrown.code !== NEEDS_AUTH.code) throw thrown;
        isRefused = true;
        return own;
      }
    },
  };
}

/** Creates the authorization by a configured token; if it is refused, only the user can change it. */
function createFixed(name: string, value: string | undefined): Authorization {
  return {
    header: async () => value,
    async refused() {
      const message = `The server "${name}" does not accept the token or password it is configured with.`;
      throw new GatewayError(NEEDS_AUTH, message, { data: { server: name } });
    },
  };
}

function createNone(name: string): Authorization {
  return {
    header: async () => undefined,
    async refused() {
      throw needsLogin(name);
    },
  };
}

/**
 * Creates the `fetch` of a login. The server names the addresses: they must be safe for tokens and codes, and never
 * those at which a cloud keeps the credentials of a machine. None of the server's headers are sent.
 */
export function createOauthFetch(server: URL): Fetch {
  const { fetch } = createHttp({ maxBytes: 1_000_000, deadlineMs: 30_000, addresses: "private" });
  return async (url, init) => {
    checkLoginUrl(new URL(url), server);
    return fetch(url, init);
  };
}

/** Refuses a login URL that is neither https nor, like its server, on this machine. */
export function checkLoginUrl(url: URL, server: URL): void {
  if (url.protocol === "https:") return;
  if (url.protocol === "http:" && isLocal(url) && isLocal(server)) return;
  throw new GatewayError(
    CONNECT_FAILED,
    `The login of ${server.host} is at ${url.host}, which is not reached over https.`,
  );
}

function isLocal({ hostname }: URL): boolean {
  return isLoopback(hostname) || hostname.endsWith(".localhost");
}
