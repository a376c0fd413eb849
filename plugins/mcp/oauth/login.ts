import { randomBytes } from "node:crypto";
import type { OAuthTokens } from "@modelcontextprotocol/client";
import { GatewayError, type JsonObject } from "../../../core/mod.ts";
import { NEEDS_AUTH } from "../../../core/services/servers.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { createHttp } from "../../lib/http/client.ts";
import { type Challenge, parseChallenge, stripUrl } from "../../lib/http/errors.ts";
import { createLoginAttempt, type LoginPage } from "./attempt.ts";
import { createOauthFetch } from "./authorization.ts";
import { createCallbackServer } from "./callback.ts";
import { type OAuthSettings, toLoginTokens } from "./session.ts";
import { createTokenStore, type Login } from "./token-store.ts";

/** Options of {@link authorize}. */
export interface AuthorizeOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** The folder in which the login is kept. */
  readonly stateFolder: string;
  /** The user whose login it is; `local` by default. */
  readonly person?: string | undefined;
  readonly oauth?: OAuthSettings | undefined;
  /** The scope to ask for, in place of that of the settings or the server. */
  readonly scope?: string | undefined;
  /** Called with the address of the page where the user logs in. */
  readonly onUrl?: ((url: string) => void) | undefined;
  /** Opens that page. A failure is ignored: the user has its address. */
  readonly openBrowser?: ((url: string) => unknown) | undefined;
  /** The time limit of the login; 5 minutes by default. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The public facts of a login. */
export interface Authorized {
  readonly issuer: string;
  readonly scope?: string | undefined;
}

/** Lets the user log in to a server in the browser, and stores the login. */
export async function authorize(connection: HttpConnection, options: AuthorizeOptions): Promise<Authorized> {
  const { name, stateFolder, person = "local", oauth = {}, timeoutMs = 300_000, signal } = options;
  const server = new URL(connection.url);
  const fetch = createOauthFetch(server);
  const store = createTokenStore(stateFolder);
  const key = { url: server.href, person };
  const { auth, computeScopeUnion, exchangeAuthorization } = await import("@modelcontextprotocol/client");
  const challenge = await requestChallenge(connection);
  const earlier = await store.read(key);
  const scope = computeScopeUnion(
    options.scope ?? oauth.scope ?? challenge?.scope,
    // A scope that the server asked for is added to those of the earlier login.
    ...(earlier?.wantedScope === undefined ? [] : [earlier.tokens.scope, earlier.wantedScope]),
  );
  const callback = await createCallbackServer(oauth.redirectPort);
  try {
    const state = randomBytes(32).toString("base64url");
    const attempt = createLoginAttempt({
      server,
      oauth,
      redirectUrl: callback.url,
      state,
      demanded: challenge !== undefined,
    });
    await auth(attempt.provider, {
      serverUrl: server,
      fetchFn: fetch,
      ...(scope === undefined ? {} : { scope }),
      ...(challenge?.resourceMetadata ? { resourceMetadataUrl: challenge.resourceMetadata } : {}),
    });
    const { url, verifier, client, discovery, resource } = attempt.getPage();
    const answered = callback.answer(state, { timeoutMs, signal });
    answered.catch(() => {});
    options.onUrl?.(url);
    void Promise.resolve(url)
      .then(options.openBrowser)
      .catch(() => {});
    const { code, iss } = await answered;
    const metadata = discovery.authorizationServerMetadata;
    const tokens = await exchangeAuthorization(discovery.authorizationServerUrl, {
      ...(metadata ? { metadata } : {}),
      clientInformation: client,
      authorizationCode: code,
      ...(iss === undefined ? {} : { iss }),
      codeVerifier: verifier,
      redirectUri: callback.url,
      ...(resource === undefined ? {} : { resource }),
      fetchFn: fetch,
    });
    const login = toLogin(attempt.getPage(), tokens, { server, person, oauth, scope });
    await store.write(key, login);
    return { issuer: login.issuer, scope: login.tokens.scope };
  } catch (thrown) {
    throw GatewayError.is(thrown) ? thrown : loginFailed(name, thrown);
  } finally {
    await callback.close();
  }
}

/** Requests the challenge of the server; undefined if it wants no login. */
async function requestChallenge({ type, url, headers }: HttpConnection): Promise<Challenge | undefined> {
  const harmless = Object.entries(headers).filter(([name]) => name.toLowerCase() !== "authorization");
  const { fetch } = createHttp({
    headers: Object.fromEntries(harmless),
    maxBytes: 1_000_000,
    deadlineMs: 30_000,
  });
  const accept = "application/json, text/event-stream";
  const post = {
    method: "POST",
    headers: { accept, "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" }),
  };
  const response = await fetch(url, type === "sse" ? { headers: { accept } } : post);
  await response.body?.cancel();
  return response.status === 401 || response.status === 403 ? parseChallenge(response) : undefined;
}

interface Asked {
  readonly server: URL;
  readonly person: string;
  readonly oauth: OAuthSettings;
  readonly scope: string | undefined;
}

function toLogin(page: LoginPage, tokens: OAuthTokens, asked: Asked): Login {
  const { client, discovery, resource } = page;
  const { server, person, oauth, scope } = asked;
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = discovery;
  return {
    server: stripUrl(server),
    person,
    issuer: metadata?.issuer ?? authorizationServerUrl,
    authorizationServer: authorizationServerUrl,
    metadata: metadata as JsonObject | undefined,
    resource,
    // A secret of the configuration is not stored a second time.
    client: oauth.clientId === undefined ? client : { client_id: oauth.clientId },
    ...toLoginTokens({ ...tokens, scope: tokens.scope ?? scope }),
  };
}

/** Leaves out the cause: the answer of a login service may contain a code or a token. */
function loginFailed(name: string, thrown: unknown): GatewayError {
  const kind = thrown instanceof Error ? thrown.name : "Error";
  const reasons: Readonly<Record<string, string>> = {
    IssuerMismatchError: "the answer came from another issuer",
    RegistrationRejectedError: "it does not let this client register",
    OAuthError: "it refused the request",
  };
  return new GatewayError(
    NEEDS_AUTH,
    `The login to "${name}" did not work: ${reasons[kind] ?? "its login service sent an invalid answer"}.`,
  );
}
