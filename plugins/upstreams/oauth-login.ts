import { randomBytes } from "node:crypto";
import type { OAuthTokens } from "@modelcontextprotocol/client";
import { GatewayError, type JsonObject } from "../../core/mod.ts";
import type { HttpConnection } from "../sources/server-config.ts";
import { NEEDS_AUTH } from "./errors.ts";
import { type Challenge, challengeOf, shownUrl } from "./http-errors.ts";
import { guardedFetch } from "./http-fetch.ts";
import { type OAuthSettings, withTokens } from "./oauth.ts";
import { type Attempt, loginAttempt } from "./oauth-attempt.ts";
import { callbackServer } from "./oauth-callback.ts";
import { oauthFetch } from "./oauth-fetch.ts";
import { type Login, tokenStore } from "./token-store.ts";

/** What {@link authorize} is given. */
export interface AuthorizeOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  /** Where the login is kept. */
  readonly stateFolder: string;
  /** Whose login it is; `local` by default. */
  readonly person?: string | undefined;
  readonly oauth?: OAuthSettings | undefined;
  /** What to ask for, in place of what the settings or the server say. */
  readonly scope?: string | undefined;
  /** Told the address where a person logs in. */
  readonly onUrl?: ((url: string) => void) | undefined;
  /** Opens it for them. It is no matter if that fails: they have the address. */
  readonly openBrowser?: ((url: string) => unknown) | undefined;
  /** How long a person may take; 5 minutes by default. */
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What may be told of a login that was made. */
export interface Authorized {
  readonly issuer: string;
  readonly scope?: string | undefined;
}

/** Lets a person log in to a server in their browser, and keeps what that gives. */
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
  const fetch = guardedFetch({
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
  return response.status === 401 || response.status === 403 ? challengeOf(response) : undefined;
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
    server: shownUrl(server),
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
