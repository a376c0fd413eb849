import { createServer, type Server } from "node:http";
import { GatewayError } from "../../../core/mod.ts";

/** A server on this machine that a browser is sent back to after a login. */
interface Callback {
  readonly url: string;
  /** Waits for the browser. A request without this `state` is not from our login, and is ignored. */
  answer(
    state: string,
    options: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
  ): Promise<{ readonly code: string; readonly iss?: string | undefined }>;
  close(): Promise<void>;
}

const PATH = "/callback";

/** Starts to listen on 127.0.0.1, on any free port unless one is given. */
export async function createCallbackServer(port = 0): Promise<Callback> {
  let expected: { state: string; settle: (found: URLSearchParams) => void } | undefined;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://127.0.0.1");
    const isOurs =
      url.pathname === PATH && expected !== undefined && url.searchParams.get("state") === expected.state;
    response.writeHead(isOurs ? 200 : 404, {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-store",
      "content-security-policy": "default-src 'none'",
      "referrer-policy": "no-referrer",
      connection: "close",
    });
    response.end(renderPage(isOurs ? "You can close this page." : "There is nothing here."), () => {
      if (isOurs) expected?.settle(url.searchParams);
    });
  });
  await listen(server, port);
  const address = server.address();
  const actual = typeof address === "object" && address ? address.port : port;

  return {
    url: `http://127.0.0.1:${actual}${PATH}`,
    answer(state, { timeoutMs, signal }) {
      return new Promise((resolve, reject) => {
        const late = new GatewayError(
          "TIMEOUT",
          `The login was not completed within ${Math.round(timeoutMs / 1000)} s.`,
        );
        const timer = setTimeout(() => stop(() => reject(late)), timeoutMs);
        const onAbort = (): void =>
          stop(() =>
            reject(new GatewayError("CANCELLED", "The login was cancelled.", { cause: signal?.reason })),
          );
        const stop = (then: () => void): void => {
          clearTimeout(timer);
          signal?.removeEventListener("abort", onAbort);
          expected = undefined;
          then();
        };
        const settle = (found: URLSearchParams): void => {
          const code = found.get("code");
          // The error of the redirect is not repeated: any page could have sent it.
          if (code === null) stop(() => reject(new GatewayError("DENIED", "The login was refused.")));
          else stop(() => resolve({ code, iss: found.get("iss") ?? undefined }));
        };
        expected = { state, settle };
        signal?.addEventListener("abort", onAbort, { once: true });
        if (signal?.aborted) onAbort();
      });
    },
    close() {
      return new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause) => {
      const message = `Port ${port} of this machine, which the browser returns to, cannot be used.`;
      reject(new GatewayError("CONFIG_INVALID", message, { cause }));
    });
    server.listen(port, "127.0.0.1", resolve);
  });
}

function renderPage(text: string): string {
  return `<!doctype html><html lang="en"><title>toolpipe</title><p>${text}</p></html>\n`;
}
