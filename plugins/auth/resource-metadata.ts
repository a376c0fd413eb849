import { getMetadataPath, type ResourceMetadata } from "../../core/services/http.ts";

/** Creates the metadata of this gateway. */
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
      const parts = [`resource_metadata="${new URL(getMetadataPath(own), own).href}"`];
      if (scopes.length > 0) parts.push(`scope="${scopes.join(" ")}"`);
      if (error) {
        parts.push(`error="${error.code === "INSUFFICIENT_SCOPE" ? "insufficient_scope" : "invalid_token"}"`);
        parts.push(`error_description="${error.message.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, "'")}"`);
      }
      return `Bearer ${parts.join(", ")}`;
    },
  };
}
