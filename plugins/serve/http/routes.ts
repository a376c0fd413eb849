import { Buffer } from "node:buffer";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Gateway, GatewayError } from "../../../core/mod.ts";
import { findRoute, type Route } from "../../../core/services/http.ts";
import { getPath, type MessageLimits, readJson } from "../../lib/http/server-request.ts";
import { HttpRefusal, notAllowed, refuse } from "../../lib/jsonrpc.ts";
import type { Endpoint } from "./endpoint.ts";
import type { Gate } from "./gate.ts";
import type { SlowBodies } from "./slow-bodies.ts";

/** The endpoint of all routes. */
interface RoutesEndpoint extends Endpoint {
  /** Whether it answers a request. */
  takes(request: IncomingMessage): boolean;
  /** Whether a request needs no authentication. */
  isOpen(request: IncomingMessage): boolean;
}

const READING: readonly string[] = ["GET", "HEAD"];

/** Serves the routes that plugins add, and the metadata that clients need before they have a token. */
export function createRoutesEndpoint({
  gateway,
  gate,
  limits,
}: {
  gateway: () => Gateway;
  gate: Gate;
  limits: MessageLimits & { readonly slowBodies: SlowBodies };
}): RoutesEndpoint {
  const running = new Set<Promise<void>>();
  let isClosing = false;
  return {
    takes: (request) => getRoute(request) !== undefined,
    isOpen: (request) => getRoute(request)?.open === true,
    handle(request, response) {
      const route = getRoute(request);
      const done = serve(request, response, route)
        .catch((thrown) => {
          if (!(thrown instanceof HttpRefusal)) gateway().report(GatewayError.from(thrown));
          return refuse(request, response, thrown, (error) => toErrorBody(error, route));
        })
        .finally(() => running.delete(done));
      running.add(done);
    },
    close() {
      isClosing = true;
    },
    async settled() {
      await Promise.all(running);
    },
  };

  function getRoute(request: IncomingMessage): Route | undefined {
    if (!gate.asksForMetadata(request)) return findRoute(gateway().drivers("route"), getPath(request));
    return { open: true, handle: (_, response) => sendJson(response, gate.getMetadata(request)) };
  }

  async function serve(
    request: IncomingMessage,
    response: ServerResponse,
    route: Route | undefined,
  ): Promise<void> {
    gate.check(request);
    if (!route) throw new HttpRefusal(404, "There is nothing at this address.");
    const { methods = READING, open = false } = route;
    if (!methods.includes(String(request.method))) throw notAllowed(methods.join(", "));
    // Health probes are answered until the end.
    if (isClosing && !open) {
      throw new HttpRefusal(503, "The gateway is closing.", { headers: { connection: "close" } });
    }
    const actor = open ? undefined : await gate.authenticate(request);
    const readBody = (): Promise<unknown> =>
      limits.slowBodies.read(actor?.id ?? "", request, () => readJson(request, limits));
    if (!response.destroyed) await route.handle(request, response, actor, readBody);
  }
}

function sendJson(response: ServerResponse, value: object): void {
  const body = Buffer.from(JSON.stringify(value));
  response.writeHead(200, { "content-type": "application/json", "content-length": body.length });
  response.end(body);
}

function toErrorBody(thrown: unknown, route: Route | undefined): object {
  const error =
    thrown instanceof HttpRefusal
      ? { code: thrown.reason ?? "BAD_REQUEST", message: thrown.message }
      : { code: "INTERNAL", message: "Something failed here." };
  return route?.toErrorBody?.(error) ?? { error };
}
