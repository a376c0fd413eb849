import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { Gateway } from "../../core/mod.ts";
import type { Endpoint } from "./_http-endpoint.ts";
import type { Gate } from "./_http-gate.ts";
import { createHandling } from "./_http-handling.ts";
import { notAllowed, Refusal } from "./_http-refusal.ts";
import { pathOf } from "./_http-request.ts";
import type { Route } from "./routes.ts";

/** What plugins answer at addresses of their own, and what clients ask before they have a token. */
export interface Routing extends Endpoint {
  /** Whether a request is for it. */
  takes(request: IncomingMessage): boolean;
}

const READING: readonly string[] = ["GET", "HEAD"];

/** Serves the routes of whatever gateway is served now. */
export function createRouting(gateway: () => Gateway, gate: Gate): Routing {
  return {
    takes: (request) => routeOf(request) !== undefined,
    ...createHandling({ gateway, serve, bodyOf }),
  };

  function routeOf(request: IncomingMessage): Route | undefined {
    if (!gate.asksForMetadata(request)) return gateway().services.routes?.find(pathOf(request));
    return { open: true, handle: (_, response) => sendJson(response, gate.metadataFor(request)) };
  }

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    isClosing: boolean,
  ): Promise<void> {
    gate.check(request);
    const route = routeOf(request);
    if (!route) throw new Refusal(404, "There is nothing at this address.");
    const { methods = READING, open = false } = route;
    if (!methods.includes(String(request.method))) throw notAllowed(methods.join(", "));
    // Whoever looks whether it is well wants to know that until the end.
    if (isClosing && !open) {
      throw new Refusal(503, "The gateway is closing.", { headers: { connection: "close" } });
    }
    const actor = open ? undefined : await gate.actorOf(request);
    if (!response.destroyed) await route.handle(request, response, actor);
  }
}

function sendJson(response: ServerResponse, value: object): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function bodyOf(thrown: unknown): object {
  const isRefusal = thrown instanceof Refusal;
  const code = isRefusal ? (thrown.reason ?? "BAD_REQUEST") : "INTERNAL";
  return { error: { code, message: isRefusal ? thrown.message : "Something failed here." } };
}
