import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";

/** Metadata of a version beside its `server.json`. */
export interface Meta {
  readonly status?: string;
  readonly statusMessage?: string;
  readonly publishedAt?: string;
  readonly updatedAt?: string;
  readonly isLatest?: boolean;
}

/** An entry as the API sends it. */
export interface Wire {
  readonly server: JsonObject & { readonly name: string; readonly version: string };
  readonly _meta: {
    readonly "io.modelcontextprotocol.registry/official": Required<Omit<Meta, "statusMessage">>;
  };
}

/** Answers one request in place of the registry. */
export type Fault = (request: IncomingMessage, response: ServerResponse) => void;

/** A registry on this machine. */
export interface TestRegistry {
  readonly url: string;
  /** Every request that came, as path and query. */
  readonly requests: string[];
  /** The entries that it lists; may be changed at any time. */
  entries: Wire[];
  /** The next requests are answered by these, one after the other; "none" lets one through. */
  readonly faults: (Fault | "none")[];
  /** The `Date` it tells. */
  now: () => number;
  close(): Promise<void>;
}

/** Makes an entry of a list. */
export function wire(name: string, server: JsonObject = {}, meta: Meta = {}): Wire {
  return {
    server: {
      $schema: "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
      name,
      description: `What ${name} does.`,
      version: "1.0.0",
      ...server,
    },
    _meta: {
      "io.modelcontextprotocol.registry/official": {
        status: "active",
        publishedAt: "2026-01-01T00:00:00Z",
        updatedAt: "2026-01-01T00:00:00Z",
        isLatest: true,
        ...meta,
      },
    },
  };
}

/** Starts a registry that answers as the real one does, until the test is over. */
export async function startRegistry(entries: readonly Wire[] = []): Promise<TestRegistry> {
  const registry: Omit<TestRegistry, "url" | "close"> = {
    requests: [],
    entries: [...entries],
    faults: [],
    now: Date.now,
  };
  const server = createServer((request, response) => {
    registry.requests.push(String(request.url));
    response.setHeader("date", new Date(registry.now()).toUTCString());
    const fault = registry.faults.shift();
    if (fault && fault !== "none") return fault(request, response);
    const { status, body } = answer(registry.entries, new URL(String(request.url), "http://registry"));
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = (): Promise<void> =>
    new Promise((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  onTestFinished(close);
  return Object.assign(registry, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close,
  });
}

function answer(entries: readonly Wire[], url: URL): { status: number; body: unknown } {
  const meta = (entry: Wire) => entry._meta["io.modelcontextprotocol.registry/official"];
  const [, api, kind, name, versions, version] = url.pathname.split("/").map(decodeURIComponent);
  if (api !== "v0.1" || kind !== "servers") return { status: 404, body: { title: "Not Found", status: 404 } };
  const query = url.searchParams;
  const isAll = query.get("include_deleted") === "true" || query.has("updated_since");
  const listed = entries.filter((entry) => isAll || meta(entry).status !== "deleted");
  if (name !== undefined && versions === "versions") {
    const own = entries.filter((entry) => entry.server.name === name);
    if (version === undefined) {
      return own.length > 0
        ? { status: 200, body: { servers: own, metadata: { count: own.length } } }
        : { status: 404, body: {} };
    }
    const one = own.find((entry) =>
      version === "latest" ? meta(entry).isLatest : entry.server.version === version,
    );
    return one ? { status: 200, body: one } : { status: 404, body: { title: "Not Found", status: 404 } };
  }
  const limit = Number(query.get("limit") ?? 30);
  const since = Date.parse(query.get("updated_since") ?? "") || 0;
  const search = (query.get("search") ?? "").toLowerCase();
  const wanted = listed
    .filter((entry) => entry.server.name.toLowerCase().includes(search))
    .filter((entry) => Date.parse(meta(entry).updatedAt) > since)
    .filter((entry) => {
      const asked = query.get("version");
      return asked === null || (asked === "latest" ? meta(entry).isLatest : entry.server.version === asked);
    })
    .map((entry) => ({ entry, key: `${entry.server.name}:${entry.server.version}` }))
    .toSorted((a, b) => (a.key < b.key ? -1 : 1));
  const cursor = query.get("cursor");
  const rest = cursor === null ? wanted : wanted.filter(({ key }) => key > cursor);
  const page = rest.slice(0, limit);
  const nextCursor = rest.length > page.length ? page.at(-1)?.key : undefined;
  return {
    status: 200,
    body: { servers: page.map(({ entry }) => entry), metadata: { count: page.length, nextCursor } },
  };
}

/** Answers with a status, and perhaps headers. */
export function status(code: number, headers: Readonly<Record<string, string>> = {}): Fault {
  return (_, response) => {
    response.writeHead(code, { "content-type": "application/json", ...headers }).end(`{"status":${code}}`);
  };
}

/** Ends the connection before an answer. */
export const reset: Fault = (request) => {
  request.socket.destroy();
};

/** Never answers. */
export const silence: Fault = () => {};

/** Answers with this. */
export function body(value: unknown): Fault {
  return (_, response) => {
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(typeof value === "string" ? value : JSON.stringify(value));
  };
}
