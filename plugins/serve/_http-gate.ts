import type { IncomingMessage } from "node:http";
import { type Actor, type Gateway, GatewayError, localUser } from "../../core/mod.ts";
import type { Auth } from "../auth/mod.ts";
import { metadataPath } from "../auth/resource-metadata.ts";
import { Refusal } from "./_http-refusal.ts";
import { inUrl, type Place, pathOf, placeCheck } from "./_http-request.ts";

/** Stands before all that is served over HTTP. */
export interface Gate {
  /** Throws a {@link Refusal} of what is for another host, or from the page of a stranger. */
  readonly check: (request: IncomingMessage) => void;
  /** Who calls: the local user where nobody has to say who they are. Rejects with a {@link Refusal}. */
  readonly actorOf: (request: IncomingMessage) => Promise<Actor>;
  /** Whether a request asks where to get tokens, and there are any. */
  readonly asksForMetadata: (request: IncomingMessage) => boolean;
  /** The answer to that, for a request that has passed the check. */
  readonly metadataFor: (request: IncomingMessage) => object;
}

const statuses: Readonly<Record<string, number | undefined>> = {
  __proto__: null as never,
  UNAUTHENTICATED: 401,
  INSUFFICIENT_SCOPE: 403,
};
/** When to come again while the keys of an issuer cannot be had. */
const RETRY_S = 5;

/** Makes the gate of a place; `path` is that of MCP, which is what tokens are for. */
export function createGate(place: Place & { readonly path: string }, gateway: () => Gateway): Gate {
  const { host, port, path } = place;
  const own = `http://${inUrl(host)}:${port}${path}`;
  // Some clients look at the root, whatever the challenge says.
  const places = new Set([metadataPath(own), metadataPath(new URL("/", own).href)]);
  return {
    check: placeCheck(place),
    async actorOf(request) {
      const { auth } = gateway().services;
      if (!auth) return localUser;
      try {
        return await auth.authenticate(request.headers.authorization);
      } catch (thrown) {
        throw refusalOf(thrown, auth, servedAt(request));
      }
    },
    asksForMetadata(request) {
      const { auth } = gateway().services;
      const asked = pathOf(request);
      return auth !== undefined && (places.has(asked) || asked === metadataPath(auth.metadata.resource(own)));
    },
    metadataFor: (request) => gateway().services.auth?.metadata.document(servedAt(request)) ?? {},
  };

  /** The address as the client knows it: its host has passed the check. */
  function servedAt({ headers }: IncomingMessage): string {
    return headers.host === undefined ? own : `http://${headers.host}${path}`;
  }
}

function refusalOf(thrown: unknown, { metadata }: Auth, served: string): unknown {
  if (!GatewayError.is(thrown)) return thrown;
  const { code, message, kind, data } = thrown;
  const status = statuses[code] ?? 503;
  // Who has shown nothing is told where to go, and not that something was wrong with it.
  const wrong = data["why"] === "missing" ? undefined : thrown;
  return new Refusal(status, message, {
    code: kind.rpc,
    reason: code,
    headers:
      status === 503
        ? { "retry-after": String(RETRY_S) }
        : { "www-authenticate": metadata.challenge(served, wrong) },
  });
}
