import type { IncomingMessage, ServerResponse } from "node:http";
import { type Gateway, GatewayError } from "../../core/mod.ts";
import type { Endpoint } from "./_http-endpoint.ts";
import { Refusal, refuse } from "./_http-refusal.ts";

/** How requests are answered that come and go one by one. */
export interface HandlingParts {
  /** The gateway that is served now. */
  readonly gateway: () => Gateway;
  /** Resolves once the answer has been sent; rejects where there is none. */
  serve(request: IncomingMessage, response: ServerResponse, isClosing: boolean): Promise<void>;
  /** What is answered where it fails. */
  bodyOf(thrown: unknown): object;
}

/** Makes an endpoint that knows which requests are under way. */
export function createHandling({ gateway, serve, bodyOf }: HandlingParts): Endpoint {
  const underway = new Set<Promise<void>>();
  let isClosing = false;
  return {
    handle(request, response) {
      const done = serve(request, response, isClosing)
        .catch((thrown) => {
          if (!(thrown instanceof Refusal)) gateway().report(GatewayError.from(thrown));
          return refuse(request, response, thrown, bodyOf);
        })
        .finally(() => underway.delete(done));
      underway.add(done);
    },
    close() {
      isClosing = true;
    },
    async settled() {
      await Promise.all(underway);
    },
  };
}
