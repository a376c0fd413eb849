import type { GatewayError } from "../../../core/mod.ts";
import type { Fetch } from "../../lib/http/client.ts";
import { needsLogin, toStatusError } from "../../lib/http/errors.ts";
import { setHeader } from "../../lib/http/redirect.ts";
import type { Authorization } from "../oauth/session.ts";

/** Options of {@link serverFetch}. */
export interface ServerFetchOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly fetch: Fetch;
  readonly authorization: Authorization;
  /** Called with the status of every answer to a message. An error that it throws replaces the answer. */
  readonly onAnswer: (status: number) => void;
  /** Called when the server no longer knows the session. Returns the error to fail with. */
  readonly onSessionLost: () => GatewayError;
  /** Called with the reason of a failed request, which some libraries do not pass on. */
  readonly onError: (error: unknown) => void;
}

/** Makes the `fetch` for the messages to a server: it authorizes requests, and turns a status into an error of ours. */
export function serverFetch(options: ServerFetchOptions): Fetch {
  const { name, fetch, authorization, onAnswer, onSessionLost, onError } = options;
  return async (url, init = {}) => {
    try {
      const response = await authorized(url, init);
      if (init.method !== "POST") return response;
      onAnswer(response.status);
      return await inSession(response, init);
    } catch (thrown) {
      onError(thrown);
      throw thrown;
    }
  };

  async function authorized(url: string | URL, init: RequestInit): Promise<Response> {
    const value = await authorization.header();
    let response = await fetch(url, withAuthorization(init, value));
    if (response.status === 401) {
      await response.body?.cancel();
      response = await fetch(url, withAuthorization(init, await authorization.refused(value)));
    }
    const error = response.status === 401 ? needsLogin(name) : toStatusError(response, name);
    if (!error) return response;
    await response.body?.cancel();
    const { scope } = error.data;
    if (typeof scope === "string") await authorization.wants?.(scope);
    throw error;
  }

  /** A server that was restarted knows no session. It should answer 404; many answer 400 with a reason. */
  async function inSession(response: Response, init: RequestInit): Promise<Response> {
    const { status, statusText, headers } = response;
    if ((status !== 404 && status !== 400) || !new Headers(init.headers).has("mcp-session-id"))
      return response;
    const text = await response.text();
    if (status === 404 || /session/i.test(text)) throw onSessionLost();
    return new Response(text, { status, statusText, headers });
  }
}

function withAuthorization(init: RequestInit, value: string | undefined): RequestInit {
  if (value === undefined) return init;
  const headers = new Headers(init.headers);
  setHeader(headers, "authorization", value);
  return { ...init, headers };
}
