import type {
  OAuthClientInformationMixed,
  OAuthClientProvider,
  OAuthDiscoveryState,
} from "@modelcontextprotocol/client";
import { GatewayError } from "../../../core/mod.ts";
import { UPSTREAM_ERROR } from "../../../core/services/servers.ts";
import { checkLoginUrl } from "./authorization.ts";
import type { OAuthSettings } from "./session.ts";

/** The login page, with the facts that its answer needs. */
export interface LoginPage {
  /** The page where the user logs in. */
  readonly url: string;
  readonly verifier: string;
  readonly client: OAuthClientInformationMixed;
  readonly discovery: OAuthDiscoveryState;
  readonly resource: string | undefined;
}

interface AttemptOptions {
  readonly server: URL;
  readonly oauth: OAuthSettings;
  readonly redirectUrl: string;
  readonly state: string;
  /** Whether the server refuses to work without a login. */
  readonly demanded: boolean;
}

/** Creates an attempt to log in. Its state is in memory only: nothing is stored before it has succeeded. */
export function createLoginAttempt({ server, oauth, redirectUrl, state, demanded }: AttemptOptions): {
  readonly provider: OAuthClientProvider;
  getPage(): LoginPage;
} {
  const { clientId, clientSecret, clientMetadataUrl } = oauth;
  let client: OAuthClientInformationMixed | undefined =
    clientId === undefined
      ? undefined
      : { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  let discovery: OAuthDiscoveryState | undefined;
  let resource: string | undefined;
  let verifier: string | undefined;
  let url: URL | undefined;

  return {
    provider: {
      redirectUrl,
      ...(clientMetadataUrl === undefined ? {} : { clientMetadataUrl }),
      clientMetadata: {
        client_name: "toolpipe",
        redirect_uris: [redirectUrl],
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
      },
      state: () => state,
      clientInformation: () => client,
      // The SDK takes a provider that cannot save a client for one whose client is fixed.
      ...(clientId === undefined
        ? {
            saveClientInformation: (saved: OAuthClientInformationMixed) => {
              client = saved;
            },
          }
        : {}),
      tokens: () => undefined,
      saveTokens: () => {},
      discoveryState: () => discovery,
      saveDiscoveryState(saved) {
        discovery = saved;
        const metadata = saved.authorizationServerMetadata;
        if (!metadata && !saved.resourceMetadata && !demanded) {
          throw new GatewayError(UPSTREAM_ERROR, `The server at ${server.host} does not ask for a login.`);
        }
        const hasDocument =
          clientMetadataUrl !== undefined && metadata?.client_id_metadata_document_supported === true;
        if (client || hasDocument || !metadata || metadata.registration_endpoint !== undefined) return;
        throw new GatewayError(
          "CONFIG_INVALID",
          `The login of ${server.host} accepts only clients that were registered there by hand. Register one, and write its id in the configuration.`,
        );
      },
      saveResourceUrl(saved) {
        resource = saved;
      },
      saveCodeVerifier(saved) {
        verifier = saved;
      },
      codeVerifier: () => verifier ?? "",
      redirectToAuthorization(address) {
        checkLoginUrl(address, server);
        url = address;
      },
    },
    getPage() {
      if (!url || !verifier || !client || !discovery) throw new Error("The login did not lead to a page.");
      return { url: url.href, verifier, client, discovery, resource };
    },
  };
}
