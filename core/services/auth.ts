import type { Actor } from "../call.ts";
import type { MaybePromise } from "../hooks.ts";

/** Finds out who calls. Provided by the plugin `auth`, where tokens are asked for. */
export interface Auth {
  /** The caller by the `Authorization` header. Throws `UNAUTHENTICATED` or `INSUFFICIENT_SCOPE`. */
  authenticate(authorization: string | undefined): Promise<Actor>;
  /** Tells a client where to get a token, and which scopes it needs. */
  readonly metadata: ResourceMetadata;
}

/** The facts a client needs to get a token (RFC 9728). */
export interface ResourceMetadata {
  /** The address under which clients know the gateway. */
  resource(served: string): string;
  /** The document; `served` is the address at which the gateway is found. */
  document(served: string): object;
  /** The value of `WWW-Authenticate` that leads to the document. */
  challenge(served: string, error?: { readonly code: string; readonly message: string }): string;
}

/** The path of the metadata of an address (RFC 9728). */
export function getMetadataPath(servedAt: string): string {
  const { pathname } = new URL(servedAt);
  return `/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}`;
}

/** Recognizes callers by their tokens. */
export interface Authenticator {
  /** The actor of a token; nothing where the token is of another kind. Throws where the token does not count. */
  actorOf(token: string): MaybePromise<Actor | undefined>;
}
