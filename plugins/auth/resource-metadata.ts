/** What a client needs to get a token (RFC 9728). */
export interface ResourceMetadata {
  /** The address under which clients know the gateway. */
  resource(served: string): string;
  /** The document; `served` is the address at which the gateway is found. */
  document(served: string): object;
  /** Where it is, and the value of `WWW-Authenticate` that leads there. */
  challenge(served: string, error?: { readonly code: string; readonly message: string }): string;
}

/** Where the document of an address is found. */
export function metadataPath(served: string): string {
  const { pathname } = new URL(served);
  return `/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}`;
}

/** Makes the metadata of this gateway. */
export function resourceMetadata(options: {
  readonly resource: string | undefined;
  readonly issuers: readonly string[];
  readonly scopes: readonly string[];
}): ResourceMetadata {
  const { resource, issuers, scopes } = options;
  return {
    resource: (served) => resource ?? served,
    document: (served) => ({
      resource: resource ?? served,
      ...(issuers.length > 0 && { authorization_servers: issuers }),
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ["header"],
      resource_name: "toolpipe",
    }),
    challenge(served, error) {
      const own = resource ?? served;
      const parts = [`resource_metadata="${new URL(metadataPath(own), own).href}"`];
      if (scopes.length > 0) parts.push(`scope="${scopes.join(" ")}"`);
      if (error) {
        parts.push(`error="${error.code === "INSUFFICIENT_SCOPE" ? "insufficient_scope" : "invalid_token"}"`);
        parts.push(`error_description="${error.message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'")}"`);
      }
      return `Bearer ${parts.join(", ")}`;
    },
  };
}
