import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { GatewayError } from "../core/mod.ts";
import { createRequestCheck, readJson } from "../plugins/lib/http/server-request.ts";
import { HttpRefusal, refuse } from "../plugins/lib/jsonrpc.ts";
import { listPageAssets, pageHeaders, projectFolder } from "../plugins/lib/pages.ts";
import { createDatasets, type DatasetOptions, type Datasets } from "./datasets.ts";
import type { EvaluationLine, Overview, RankerInfo } from "./protocol.ts";
import { listRankers, toSnippet } from "./rankers.ts";
import { createRequestParsers } from "./requests.ts";

/** Options of {@link servePlayground}. */
export interface PlaygroundOptions extends Omit<DatasetOptions, "demo"> {
  /** Port; any free one by default. */
  readonly port?: number;
  /** Paths of modules with rankers of your own, relative to the current folder. */
  readonly rankers?: readonly string[];
  /** The folder of the labelled set to begin with; the project's own by default. */
  readonly demo?: URL;
  /** The size of the largest file that the page may send. */
  readonly uploadBytes?: number;
}

/** A served playground. */
export interface Playground {
  readonly url: string;
  close(): Promise<void>;
}

const HOST = "127.0.0.1";
/** Files are sent as JSON strings, in which every quote takes two bytes. */
const UPLOAD_BYTES = 64_000_000;
const REQUEST = { bytes: 1_000_000, depth: 16 };

type Handler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves a page for ranking experiments that only this machine can reach. */
export async function servePlayground(options: PlaygroundOptions = {}): Promise<Playground> {
  const {
    port = 0,
    uploadBytes = UPLOAD_BYTES,
    demo = projectFolder("playground/labelled"),
    rankers,
    ...files
  } = options;
  const datasets = await createDatasets({ ...files, demo });
  const routes = await createRoutes(datasets, uploadBytes, listRankers(rankers));
  const server = createServer({ requestTimeout: 120_000 });
  const bound = await listen(server, port);

  server.on("request", (request, response) => {
    for (const [name, value] of Object.entries(pageHeaders)) response.setHeader(name, value);
    serve(request, response).catch((thrown: unknown) => refuse(request, response, toRefusal(thrown)));
  });

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = "", headers } = request;
    const path = url.split("?", 1)[0] as string;
    createRequestCheck({ host: HOST, port: bound, path })(request);
    // Other pages of this machine are not trusted either.
    if (headers.origin !== undefined && headers.origin !== `http://${headers.host}`)
      throw new HttpRefusal(403, "Requests from this origin are refused.");
    const handle = routes.get(`${method} ${path}`);
    if (!handle) throw new HttpRefusal(404, "There is nothing at this address.");
    await handle(request, response);
  }

  return {
    url: `http://${HOST}:${bound}/`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      await datasets.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function createRoutes(
  datasets: Datasets,
  uploadBytes: number,
  rankers: readonly RankerInfo[],
): Promise<ReadonlyMap<string, Handler>> {
  const requests = createRequestParsers(rankers);
  const routes = new Map<string, Handler>();
  for (const [name, asset] of await listPageAssets()) {
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
    send(response, { rankers, catalogs: datasets.catalogs(), sets: datasets.sets() } satisfies Overview);
  });
  for (const action of ["open", "renew"] as const) {
    answer(`/api/${action}`, async (body) => {
      const { catalog } = requests.catalog(body);
      await datasets[action](catalog);
      return datasets.catalogs().find(({ id }) => id === catalog);
    });
  }
  answer("/api/rank", async (body) => {
    const { catalog, ...asked } = requests.rank(body);
    const { pool } = await datasets.open(catalog);
    return { columns: await pool.rank(asked) };
  });
  answer("/api/queries", (body) => ({ queries: datasets.queries(requests.set(body).set) }));
  answer("/api/snippet", (body) => ({ text: toSnippet(requests.column(body), rankers) }));
  answer("/api/catalogs", (body) => datasets.addCatalog(requests.upload(body)), uploadBytes);
  answer("/api/sets", (body) => datasets.addSet(requests.upload(body)), uploadBytes);
  routes.set("POST /api/evaluate", async (request, response) => {
    const { catalog, set, columns } = requests.evaluate(await readJson(request, REQUEST));
    const queries = datasets.queries(set);
    const { pool } = await datasets.open(catalog);
    response.writeHead(200, { "content-type": "application/x-ndjson" });
    const write = (line: EvaluationLine): void => void response.write(`${JSON.stringify(line)}\n`);
    // A page that cancels or is closed ends the connection.
    const closed = new AbortController();
    response.once("close", () => closed.abort());
    try {
      const result = await pool.evaluate(
        { queries, columns },
        (progress) => write({ progress }),
        closed.signal,
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

/** Shows the messages of our own errors on the page. */
function toRefusal(thrown: unknown): unknown {
  return GatewayError.is(thrown) ? new HttpRefusal(400, thrown.message) : thrown;
}

function listen(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once("error", (cause: NodeJS.ErrnoException) => {
      const why = cause.code === "EADDRINUSE" ? "is already in use" : "cannot be opened";
      reject(
        new GatewayError("CONFIG_INVALID", `The port ${port} ${why}. Choose another one with --port.`, {
          cause,
        }),
      );
    });
    server.listen(port, HOST, () => resolve((server.address() as { port: number }).port));
  });
}
