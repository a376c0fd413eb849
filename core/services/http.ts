import type { IncomingMessage, ServerResponse } from "node:http";
import type { Actor } from "../call.ts";
import type { MaybePromise } from "../hooks.ts";

/** Answers at a path of its own, beside MCP. Registered under the path: `/metrics`, or `/assets/*`. */
export interface Route {
  /** Whether callers need no authentication; only for what everyone may know. */
  readonly open?: boolean | undefined;
  /** Allowed HTTP methods; GET and HEAD by default. */
  readonly methods?: readonly string[] | undefined;
  /** Creates the body of an answer that refuses a request; `{ error: { code, message } }` by default. */
  readonly toErrorBody?: ((error: { readonly code: string; readonly message: string }) => object) | undefined;
  /**
   * Answers a request whose host, origin, method and, unless the route is open, caller have been checked. The actor is
   * the local user where no authentication is configured, and undefined where the route is open. `readJson` reads the
   * body within the limits of the server. An error that `handle` throws is reported, and answered without its message.
   */
  handle(
    request: IncomingMessage,
    response: ServerResponse,
    actor: Actor | undefined,
    readJson: () => Promise<unknown>,
  ): MaybePromise<void>;
}

/** Finds the route of a path among the registered ones: an exact path, or else the longest prefix such as `/assets/*`. */
export function findRoute(routes: ReadonlyMap<string, Route>, path: string): Route | undefined {
  const exact = path.endsWith("/*") ? undefined : routes.get(path);
  if (exact) return exact;
  const prefixes = [...routes.keys()].filter(
    (key) => key.endsWith("/*") && path.startsWith(key.slice(0, -1)),
  );
  return routes.get(prefixes.toSorted((a, b) => b.length - a.length)[0] ?? "");
}

/** Readiness of a gateway, for those that end it. Provided by the plugin `health`. */
export interface Readiness {
  /** Answers from now on that the gateway is not ready; returns for how many milliseconds requests may still come. */
  leave(): number;
}

/** Values that are read when metrics are collected. */
export interface Gauge {
  readonly help: string;
  /** `gauge` by default. */
  readonly type?: "gauge" | "counter";
  read(): readonly { readonly labels?: Readonly<Record<string, string>>; readonly value: number }[];
}
