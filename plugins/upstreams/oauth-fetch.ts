import { GatewayError } from "../../core/mod.ts";
import { CONNECT_FAILED } from "./errors.ts";
import { type Fetch, guardedFetch } from "./http-fetch.ts";

const MAX_BYTES = 1_000_000;
const DEADLINE_MS = 30_000;

/** A `fetch` for the requests of a login. It goes only where tokens and codes may go, and sends none of the server's headers. */
export function oauthFetch(server: URL): Fetch {
  const fetch = guardedFetch({ maxBytes: MAX_BYTES, deadlineMs: DEADLINE_MS });
  return async (url, init) => {
    assertSafePlace(new URL(url), server);
    return fetch(url, init);
  };
}

/** A server says itself where its login is made. It must be https, or on this machine where the server is as well. */
export function assertSafePlace(url: URL, server: URL): void {
  if (url.protocol === "https:") return;
  if (url.protocol === "http:" && isLocal(url) && isLocal(server)) return;
  throw new GatewayError(
    CONNECT_FAILED,
    `The login of ${server.host} is at ${url.host}, which is not reached over https.`,
  );
}

function isLocal({ hostname }: URL): boolean {
  return /^(localhost|.+\.localhost|127\.0\.0\.1|\[::1\])$/.test(hostname);
}
