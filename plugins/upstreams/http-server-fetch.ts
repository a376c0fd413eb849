import type { GatewayError } from "../../core/mod.ts";
import { needsLogin, statusError } from "./http-errors.ts";
import { type Fetch, setHeader } from "./http-fetch.ts";
import type { Authorization } from "./oauth.ts";

/** What a {@link serverFetch} is given. */
export interface ServerFetchOptions {
  /** The name of the server, for messages. */
  readonly name: string;
  readonly fetch: Fetch;
  readonly authorization: Authorization;
  /** Told the status of every answer to a message. What it throws takes the place of the answer. */
  readonly onAnswer: (status: number) => void;
  /** Called when the server does not know the session any more. Returns the error to fail with. */
  readonly onSessionLost: () => GatewayError;
  /** Told why a request failed, for where a library keeps it to itself. */
  readonly onError: (error: unknown) => void;
}

/** A `fetch` for the messages to a server: it proves who we are, and says in our words what a status means. */
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
    const error = response.status === 401 ? needsLogin(name) : statusError(response, name);
    if (!error) return response;
    await response.body?.cancel();
    const { scope } = error.data;
    if (typeof scope === "string") await authorization.wants?.(scope);
    throw error;
  }

  /** A server that was restarted knows no session. It should say 404, and many say 400 and why. */
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
