import type { IncomingMessage, ServerResponse } from "node:http";
import { type Actor, type Gateway, GatewayError, type MaybePromise } from "../../core/mod.ts";

/** What answers at an address of its own, beside MCP and REST. */
export interface Route {
  /** Whether anybody may ask, without saying who they are; only for what anybody may know. */
  readonly open?: boolean | undefined;
  /** The methods of HTTP that it takes; GET and HEAD by default. */
  readonly methods?: readonly string[] | undefined;
  /**
   * Answers a request. Its host, its origin, its method and, unless it is open, its caller are known to be right; the
   * actor is the local user where nobody has to say who they are, and nobody where it is open. What it throws is
   * reported, and answered without a word of it.
   */
  handle(request: IncomingMessage, response: ServerResponse, actor: Actor | undefined): MaybePromise<void>;
}

/** What is served over HTTP beside MCP and REST, by path. */
export interface Routes {
  /** A path such as `/metrics`, or `/assets/*` for all that lies below. */
  add(path: string, route: Route): void;
  /** What answers at a path. */
  find(path: string): Route | undefined;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** There where a plugin answers at an address of its own; see `offerRoute`. */
    routes?: Routes;
  }
}

/** Answers at an address of its own where the gateway is served over HTTP. */
export function offerRoute(gateway: Gateway, path: string, route: Route): void {
  gateway.services.routes ??= createRoutes();
  gateway.services.routes.add(path, route);
}

function createRoutes(): Routes {
  const exact = new Map<string, Route>();
  const below = new Map<string, Route>();
  return {
    add(path, route) {
      const [all, key] = path.endsWith("/*") ? [below, path.slice(0, -1)] : [exact, path];
      if (!key.startsWith("/") || all.has(key)) {
        const why = key.startsWith("/") ? "it is there already" : 'it must begin with "/"';
        throw new GatewayError("PLUGIN_INVALID", `The route "${path}" cannot be added: ${why}.`);
      }
      all.set(key, route);
    },
    find(path) {
      const found = exact.get(path);
      if (found || below.size === 0) return found;
      // The longest one is the one that is meant.
      let [longest, route]: [string, Route | undefined] = ["", undefined];
      for (const [key, one] of below) {
        if (path.startsWith(key) && key.length > longest.length) [longest, route] = [key, one];
      }
      return route;
    },
  };
}
