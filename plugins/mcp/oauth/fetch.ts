import { GatewayError } from "../../../core/mod.ts";
import { CONNECT_FAILED } from "../../../core/services/servers.ts";
import { createHttp, type Fetch } from "../../lib/http/client.ts";

/**
 * Creates the `fetch` of a login. The server names the addresses: they must be safe for tokens and codes, and never
 * those at which a cloud keeps the credentials of a machine. None of the server's headers are sent.
 */
export function oauthFetch(server: URL): Fetch {
  const { fetch } = createHttp({ maxBytes: 1_000_000, deadlineMs: 30_000, addresses: "private" });
  return async (url, init) => {
    assertSafeUrl(new URL(url), server);
    return fetch(url, init);
  };
}

/** Refuses a URL of a login that is neither https nor on this machine together with its server. */
export function assertSafeUrl(url: URL, server: URL): void {
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
