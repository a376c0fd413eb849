import type { AuthorizationServerMetadata, OAuthTokens } from "@modelcontextprotocol/client";
import { GatewayError } from "../../../core/mod.ts";
import { CONNECT_FAILED, UPSTREAM_ERROR } from "../../../core/services/servers.ts";
import { sleep } from "../../lib/backoff.ts";
import type { Fetch } from "../../lib/http/client.ts";
import { needsLogin } from "../../lib/http/errors.ts";
import type { Login, LoginKey, TokenStore } from "./token-store.ts";

/** The OAuth client that a definition describes. All of it is optional: most servers let a client register itself. */
export interface OAuthSettings {
  /** A client that was registered by hand. */
  readonly clientId?: string | undefined;
  readonly clientSecret?: string | undefined;
  /** URL of a document that describes this client; used in place of registering, where the server supports it. */
  readonly clientMetadataUrl?: string | undefined;
  /** The scope to ask for, in place of the one that the server suggests. */
  readonly scope?: string | undefined;
  /** The port that the browser comes back to, for a client that was registered with one; any free one by default. */
  readonly redirectPort?: number | undefined;
}

/** The source of the `Authorization` header of a server. */
export interface Authorization {
  /** Its value, if there is one to send. */
  header(): Promise<string | undefined>;
  /** Called when the server did not accept that value. Returns another one to try, or rejects with `NEEDS_AUTH`. */
  refused(value: string | undefined): Promise<string>;
  /** Called when the server accepted it, but wants more to be allowed. */
  wants?(scope: string): Promise<void>;
}

interface OAuthSessionOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly key: LoginKey;
  readonly store: TokenStore;
  readonly settings?: OAuthSettings | undefined;
  readonly fetch: Fetch;
}

const MARGIN_MS = 60_000;
const RENEW_MS = 45_000;
const POLL_MS = 50;
/** While a token still works, a login service that fails is not asked with every call. */
const PAUSE_MS = 10_000;

/** Uses a login that the user made earlier, and renews it before it ends. It never asks the user. */
export function createOauthSession(options: OAuthSessionOptions): Authorization {
  const { name, key, store, settings = {} } = options;
  let known: Login | undefined;
  let renewing: Promise<Login> | undefined;
  let tryAgainAt = 0;

  return {
    async header() {
      // Read again while there is none: the user may log in at any time, in another process.
      known ??= await read();
      const due = known && isEnding(known, Date.now() < tryAgainAt ? 0 : MARGIN_MS);
      if (known && due) known = await renewOnce(known.tokens.access_token);
      return known && toBearer(known);
    },
    async refused(value) {
      const login = await read();
      if (!login) throw needsLogin(name);
      if (toBearer(login) === value) known = await renewOnce(login.tokens.access_token, true);
      else known = login;
      return toBearer(known);
    },
    async wants(scope) {
      // The next login will cover it, and must be read then.
      known = undefined;
      const login = await read();
      if (!login) return;
      const { refresh_token = "" } = login.tokens;
      const claim = await store.claim(key, refresh_token).catch(() => undefined);
      if (claim && (await isCurrent(login))) await store.write(key, { ...login, wantedScope: scope });
      await claim?.release();
    },
  };

  async function read(): Promise<Login | undefined> {
    const login = await store.read(key);
    // Tokens belong to the client that asked for them.
    const otherClient = settings.clientId !== undefined && settings.clientId !== login?.client.client_id;
    return otherClient ? undefined : login;
  }

  function renewOnce(spent: string, refused = false): Promise<Login> {
    renewing ??= renew(spent, refused).finally(() => {
      renewing = undefined;
    });
    return renewing;
  }

  async function renew(spent: string, refused: boolean): Promise<Login> {
    const giveUpAt = performance.now() + RENEW_MS;
    while (performance.now() < giveUpAt) {
      const login = await read();
      if (!login) throw needsLogin(name);
      if (login.tokens.access_token !== spent && !isEnding(login, MARGIN_MS)) return login;
      if (login.tokens.refresh_token === undefined) {
        if (!refused && !isEnding(login, 0)) return login;
        throw needsLogin(name, "no longer accepts the login");
      }
      const claim = await claimToken(login.tokens.refresh_token);
      if (claim) {
        try {
          const current = await read();
          // The process that had the claim before may have renewed the login since it was read.
          if (current?.tokens.access_token === login.tokens.access_token)
            return await refresh(current, refused);
        } finally {
          await claim.release();
        }
      } else {
        await sleep(POLL_MS);
      }
    }
    throw new GatewayError("TIMEOUT", `The login to "${name}" could not be renewed within ${RENEW_MS} ms.`);
  }

  async function claimToken(refreshToken: string): ReturnType<TokenStore["claim"]> {
    try {
      return await store.claim(key, refreshToken);
    } catch (cause) {
      // A login that is renewed and not saved would be lost to other processes.
      const message = `The login to "${name}" cannot be renewed: its file cannot be written.`;
      throw new GatewayError(CONNECT_FAILED, message, { cause });
    }
  }

  async function refresh(login: Login, refused: boolean): Promise<Login> {
    const { OAuthError, refreshAuthorization } = await import("@modelcontextprotocol/client");
    const { clientSecret } = settings;
    let tokens: OAuthTokens;
    try {
      tokens = await refreshAuthorization(login.authorizationServer, {
        ...(login.metadata ? { metadata: login.metadata as AuthorizationServerMetadata } : {}),
        clientInformation:
          clientSecret === undefined ? login.client : { ...login.client, client_secret: clientSecret },
        refreshToken: login.tokens.refresh_token ?? "",
        ...(login.resource === undefined ? {} : { resource: login.resource }),
        fetchFn: options.fetch,
      });
    } catch (thrown) {
      if (OAuthError.isInstance(thrown) && isOver(thrown.code)) {
        await removeLogin(login);
        throw needsLogin(name, "no longer accepts the login");
      }
      tryAgainAt = Date.now() + PAUSE_MS;
      if (!refused && !isEnding(login, 0)) return login;
      if (GatewayError.is(thrown)) throw thrown;
      // Not kept as the cause: it repeats the answer, which may contain a token.
      throw new GatewayError(UPSTREAM_ERROR, `The login to "${name}" could not be renewed.`, {
        data: { retryable: true },
      });
    }
    const renewed = { ...login, ...toLoginTokens({ ...tokens, scope: tokens.scope ?? login.tokens.scope }) };
    // The user may have logged in again or out meanwhile, which takes precedence.
    if (!(await isCurrent(login))) return (await read()) ?? Promise.reject(needsLogin(name));
    await store.write(key, renewed);
    return renewed;
  }

  /** Removes a login unless there is another one, or only the configuration of the client is wrong. */
  async function removeLogin(login: Login): Promise<void> {
    if (settings.clientId === undefined && (await isCurrent(login))) await store.remove(key);
  }

  async function isCurrent(login: Login): Promise<boolean> {
    const kept = await store.read(key);
    return kept?.tokens.access_token === login.tokens.access_token;
  }
}

/** Whether an OAuth error means that a login can never be renewed. */
function isOver(code: string): boolean {
  return code === "invalid_grant" || code === "invalid_client" || code === "unauthorized_client";
}

/** Creates the part of a login that comes with new tokens. */
export function toLoginTokens(tokens: Login["tokens"]): Pick<Login, "tokens" | "expiresAt"> {
  const { access_token, token_type, refresh_token, scope, expires_in } = tokens;
  return {
    tokens: { access_token, token_type, refresh_token, scope, expires_in },
    expiresAt: expires_in === undefined ? undefined : Date.now() + expires_in * 1000,
  };
}

function isEnding({ expiresAt, tokens }: Login, marginMs: number): boolean {
  if (expiresAt === undefined) return false;
  // A token that lives for a minute would otherwise always be at its end.
  const half = ((tokens.expires_in ?? 0) * 1000) / 2;
  return expiresAt - Math.min(marginMs, half) <= Date.now();
}

function toBearer({ tokens }: Login): string {
  return `Bearer ${tokens.access_token}`;
}
