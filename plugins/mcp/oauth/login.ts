import { randomBytes } from "node:crypto";
import type { OAuthTokens } from "@modelcontextprotocol/client";
import { GatewayError, type JsonObject } from "../../../core/mod.ts";
import { NEEDS_AUTH } from "../../../core/services/servers.ts";
import type { HttpConnection } from "../../../core/services/sources.ts";
import { createHttp } from "../../lib/http/client.ts";
import { type Challenge, parseChallenge, toShownUrl } from "../../lib/http/errors.ts";
import { type Attempt, loginAttempt } from "./attempt.ts";
import { callbackServer } from "./callback.ts";
import { oauthFetch } from "./fetch.ts";
import { type OAuthSettings, withTokens } from "./session.ts";
import { type Login, tokenStore } from "./token-store.ts";

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
  /** Opens it for them. It is no matter if that fails: they have the address. */
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
  const fetch = oauthFetch(server);
  const store = tokenStore(stateFolder);
  const key = { url: server.href, person };
  const { auth, computeScopeUnion, exchangeAuthorization } = await import("@modelcontextprotocol/client");
  const challenge = await askForChallenge(connection);
  const earlier = await store.read(key);
  const scope = computeScopeUnion(
    options.scope ?? oauth.scope ?? challenge?.scope,
    // Only what was asked for in vain is added, and then what there was is not lost.
    ...(earlier?.wantedScope === undefined ? [] : [earlier.tokens.scope, earlier.wantedScope]),
  );
  const callback = await callbackServer(oauth.redirectPort);
  try {
    const state = randomBytes(32).toString("base64url");
    const attempt = loginAttempt({
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
    const { url, verifier, client, discovery, resource } = attempt.found();
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
    const login = toLogin(attempt.found(), tokens, { server, person, oauth, scope });
    await store.write(key, login);
    return { issuer: login.issuer, scope: login.tokens.scope };
  } catch (thrown) {
    throw GatewayError.is(thrown) ? thrown : failed(name, thrown);
  } finally {
    await callback.close();
  }
}

/** Asks the server, without a login, for the login it wants; nothing if it wants none. */
async function askForChallenge({ type, url, headers }: HttpConnection): Promise<Challenge | undefined> {
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

function toLogin(found: ReturnType<Attempt["found"]>, tokens: OAuthTokens, asked: Asked): Login {
  const { client, discovery, resource } = found;
  const { server, person, oauth, scope } = asked;
  const { authorizationServerUrl, authorizationServerMetadata: metadata } = discovery;
  return {
    server: toShownUrl(server),
    person,
    issuer: metadata?.issuer ?? authorizationServerUrl,
    authorizationServer: authorizationServerUrl,
    metadata: metadata as JsonObject | undefined,
    resource,
    // A secret that stands in the configuration is not written down a second time.
    client: oauth.clientId === undefined ? client : { client_id: oauth.clientId },
    ...withTokens({ ...tokens, scope: tokens.scope ?? scope }),
  };
}

/** The cause is left out: what a login service answers may hold a code or a token. */
function failed(name: string, thrown: unknown): GatewayError {
  const kind = thrown instanceof Error ? thrown.name : "Error";
  const reasons: Readonly<Record<string, string>> = {
    IssuerMismatchError: "the answer came from someone else than was asked",
    RegistrationRejectedError: "it does not let this client register",
    OAuthError: "it refused the request",
  };
  return new GatewayError(
    NEEDS_AUTH,
    `The login to "${name}" did not work: ${reasons[kind] ?? "its login service could not be understood"}.`,
  );
}
