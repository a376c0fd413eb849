import type { JsonObject } from "../../core/mod.ts";
import type { OAuthSettings } from "../../plugins/mcp/oauth/session.ts";

/** Settings of a scenario for the client, besides the address. */
export interface Context {
  readonly client_id?: string;
  readonly client_secret?: string;
  readonly toolCalls?: readonly { readonly name: string; readonly arguments: JsonObject }[];
}

/** The configuration that a person would have written for the server of a scenario. */
export function getOAuth(scenario: string, context: Context): OAuthSettings | undefined {
  if (scenario === "auth/basic-cimd") {
    return { clientMetadataUrl: "https://conformance-test.local/client-metadata.json" };
  }
  const { client_id: clientId, client_secret: clientSecret } = context;
  return clientId === undefined ? undefined : { clientId, clientSecret };
}
