import type { IncomingMessage, ServerResponse } from "node:http";
import type { Actor } from "../call.ts";
import type { MaybePromise } from "../hooks.ts";

/** HTTP route beside MCP. Registered under its path: `/metrics`, or `/assets/*`. */
export interface Route {
  /** Whether callers need no authentication; for public data only. */
  readonly open?: boolean | undefined;
  /** Allowed HTTP methods; GET and HEAD by default. */
  readonly methods?: readonly string[] | undefined;
  /** Creates the body of an answer that refuses a request; `{ error: { code, message } }` by default. */
  readonly toErrorBody?: ((error: { readonly code: string; readonly message: string }) => object) | undefined;
  /**
   * Answers a request whose host, origin, method and, unless the route is open, caller have been checked. The actor is
   * the local user where no authentication is configured, and undefined where the route is open. `readJson` reads the
   * body within the limits of the server. An error that `handle` throws is reported, and answered without its message.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    actor: Actor | undefined,
    readJson: () => Promise<unknown>,
  ): MaybePromise<void>;
}

/** Finds the route of a path among the registered ones: an exact path, or else the longest prefix such as `/assets/*`. */
export function findRoute(routes: ReadonlyMap<string, Route>, path: string): Route | undefined {
  const exact = path.endsWith("/*") ? undefined : routes.get(path);
  if (exact) return exact;
  const prefixes = [...routes.keys()].filter(
    (key) => key.endsWith("/*") && path.startsWith(key.slice(0, -1)),
  );
  return routes.get(prefixes.toSorted((a, b) => b.length - a.length)[0] ?? "");
}

/** Readiness of a gateway. Provided by the plugin `health`. */
export interface Readiness {
  /** Reports the gateway as not ready from now on. Returns the milliseconds for which requests may still arrive. */
  leave(): number;
}

/** Values that are read when metrics are collected. */
export interface Gauge {
  readonly help: string;
  /** `gauge` by default. */
  readonly type?: "gauge" | "counter";
  read(): readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[];
}

/** Authenticates callers. Provided by the plugin `auth` if tokens are required. */
export interface Auth {
  /** Returns the caller of an `Authorization` header. Throws `UNAUTHENTICATED` or `INSUFFICIENT_SCOPE`. */
  authenticate(authorization: string | undefined): Promise<Actor>;
  /** Authorization servers and scopes, for clients that need a token. */
  readonly metadata: ResourceMetadata;
}

/** Metadata by which a client gets a token (RFC 9728). */
export interface ResourceMetadata {
  /** Returns the URL under which clients know the gateway. */
  resource(served: string): string;
  /** Returns the document; `served` is the URL at which the gateway listens. */
  document(served: string): object;
  /** Returns the value of `WWW-Authenticate` that points to the document. */
  challenge(served: string, error?: { readonly code: string; readonly message: string }): string;
}

/** Returns the path of the metadata of a URL (RFC 9728). */
export function getMetadataPath(servedAt: string): string {
  const { pathname } = new URL(servedAt);
  return `/.well-known/oauth-protected-resource${pathname === "/" ? "" : pathname}`;
}

/** Identifies callers by their tokens. */
export interface Authenticator {
  /** Returns the actor of a token; undefined if the token is of another kind. Throws if the token is invalid. */
  findActor(token: string): MaybePromise<Actor | undefined>;
}

/**
 * Locates sessions among the replicas of a gateway: those of legacy clients, and calls that wait for the next request of
 * a modern client. Provided by the plugin `replicas`, if the state is shared between machines.
 */
export interface SessionHomes {
  /** Names this server among the replicas. The id stays the same across reloads. */
  announce(server: { readonly id: string; readonly url: string }): void;
  /** Records that a session began here, for a week or for so many milliseconds. */
  begin(session: string, forMs?: number): Promise<void>;
  /**
   * Finds the replica of a session that is unknown here, and forwards the request.
   *
   * - `here`: to be answered here, as well as it can be.
   * - `gone`: the session, or its replica, has ended; nothing was done.
   * - `lost`: the replica ended before it answered; the outcome is unknown.
   * - `answered`: by the replica of the session.
   */
  route(
    session: string,
    request: IncomingMessage,
    response: ServerResponse,
    body?: string,
  ): Promise<"here" | "gone" | "lost" | "answered">;
  /** Leaves the replicas: no session is forwarded to this server any more. */
  close(): void;
}
