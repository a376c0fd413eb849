import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { GatewayError } from "../core/mod.ts";
import { Refusal, refuse } from "../plugins/lib/http/server-refusal.ts";
import { createRequestCheck, readJson } from "../plugins/lib/http/server-request.ts";
import { pageAssets, pageHeaders, projectFolder } from "../plugins/lib/pages.ts";
import type { EvaluationLine, Overview, RankerInfo } from "./protocol.ts";
import { listRankers } from "./rankers.ts";
import { createRequests } from "./requests.ts";
import { createShelf, type Shelf, type ShelfOptions } from "./shelf.ts";
import { toSnippet } from "./snippet.ts";

/** What the playground is opened with. */
export interface PlaygroundOptions extends Omit<ShelfOptions, "demo"> {
  /** Any free one by default. */
  readonly port?: number;
  /** Paths of modules with rankers of your own, relative to the current folder. */
  readonly rankers?: readonly string[];
  /** The folder of the labelled set to begin with; the project's own by default. */
  readonly demo?: URL;
  /** The size of the largest file that the page may send. */
  readonly uploadBytes?: number;
}

/** A playground that is open. */
export interface Playground {
  /** Where the page is. */
  readonly url: string;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** The text of a file within JSON, where every quote of it takes two bytes. */
const UPLOAD_BYTES = 64_000_000;
const REQUEST = { bytes: 1_000_000, depth: 16 };

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Opens the playground: a page for ranking experiments that only this machine can reach. */
export async function servePlayground(options: PlaygroundOptions = {}): Promise<Playground> {
  const {
    port = 0,
    uploadBytes = UPLOAD_BYTES,
    demo = projectFolder("playground/labelled"),
    rankers,
    ...files
  } = options;
  const shelf = await createShelf({ ...files, demo });
  const routes = await routesOf(shelf, uploadBytes, listRankers(rankers));
  const server = createServer({ requestTimeout: 120_000 });
  const bound = await listen(server, port);

  server.on("request", (request, response) => {
    for (const [name, value] of Object.entries(pageHeaders)) response.setHeader(name, value);
    serve(request, response).catch((thrown: unknown) => refuse(request, response, asRefusal(thrown)));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "", headers } = request;
    const path = url.split("?", 1)[0] as string;
    createRequestCheck({ host: HOST, port: bound, path })(request);
    // Another page of this machine is a stranger too.
    if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`)
      throw new Refusal(403, "Requests from this origin are not answered.");
    const handle = routes.get(`${method} ${path}`);
    if (!handle) throw new Refusal(404, "There is nothing at this address.");
    await handle(request, response);
  }

  return {
    url: `http://${HOST}:${bound}/`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await shelf.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function routesOf(
  shelf: Shelf,
  uploadBytes: number,
  rankers: readonly RankerInfo[],
): Promise<ReadonlyMap<string, Handler>> {
  const requests = createRequests(rankers);
  const routes = new Map<string, Handler>();
  for (const [name, asset] of await pageAssets()) {
    routes.set(`GET /${name === "index.html" ? "" : name}`, async (_request, response) => {
      response.writeHead(200, { "content-type": asset.type }).end(await asset.read());
    });
  }
  const answer = (path: string, work: (body: unknown) => unknown, bytes = REQUEST.bytes): void => {
    routes.set(`POST ${path}`, async (request, response) => {
      send(response, await work(await readJson(request, { ...REQUEST, bytes })));
    });
  };
  routes.set("GET /api/overview", async (_request, response) => {
    send(response, { rankers, catalogs: shelf.catalogs(), sets: shelf.sets() } satisfies Overview);
  });
  answer("/api/open", async (body) => {
    const { catalog } = requests.catalog(body);
    await shelf.open(catalog);
    return shelf.catalogs().find(({ id }) => id === catalog);
  });
  answer("/api/renew", async (body) => {
    const { catalog } = requests.catalog(body);
    await shelf.renew(catalog);
    return shelf.catalogs().find(({ id }) => id === catalog);
  });
  answer("/api/rank", async (body) => {
    const { catalog, ...asked } = requests.rank(body);
    const { workshop } = await shelf.open(catalog);
    return { columns: await workshop.rank(asked) };
  });
  answer("/api/queries", (body) => ({ queries: shelf.queries(requests.set(body).set) }));
  answer("/api/snippet", (body) => ({ text: toSnippet(requests.column(body), rankers) }));
  answer("/api/catalogs", (body) => shelf.addCatalog(requests.upload(body)), uploadBytes);
  answer("/api/sets", (body) => shelf.addSet(requests.upload(body)), uploadBytes);
  routes.set("POST /api/evaluate", async (request, response) => {
    const { catalog, set, columns } = requests.evaluate(await readJson(request, REQUEST));
    const queries = shelf.queries(set);
    const { workshop } = await shelf.open(catalog);
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    const write = (line: EvaluationLine): void => void response.write(`${JSON.stringify(line)}\n`);
    // A page that cancels, or is closed, hangs up.
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    try {
      const result = await workshop.evaluate(
        { queries, columns },
        (progress) => write({ progress }),
        gone.signal,
      );
      write({ result });
    } catch (thrown) {
      write({ error: GatewayError.from(thrown).message });
    }
    response.end();
  });
  return routes;
}

function send(response: ServerResponse, value: unknown): void {
  response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(value));
}

/** What our own errors say is meant for whoever sits here. */
function asRefusal(thrown: unknown): unknown {
  return GatewayError.is(thrown) ? new Refusal(400, thrown.message) : thrown;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "is already in use" : "cannot be opened";
      reject(new GatewayError("CONFIG_INVALID", `The port ${port} ${why}.`, { cause }));
    });
    server.listen(port, HOST, () => resolve((server.address() as { port: number }).port));
  });
}
