import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { Client, type ElicitResult, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { encode } from "gpt-tokenizer/encoding/o200k_base";
import { afterAll, onTestFinished } from "vitest";
import type { Gateway, JsonObject, LoadedConfig, Plugin, Tool } from "../../../core/mod.ts";
import { audit, type MemorySink, memorySink } from "../../../plugins/audit/mod.ts";
import { health } from "../../../plugins/health.ts";
import { serveHttp } from "../../../plugins/serve/mod.ts";
import { gateway as preset } from "../../../presets/gateway/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";
import type { Serving } from "../../support/start-serve.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import { folderForAll, serveForAll } from "../shared.ts";
import { counts, createDocument, paystackFile } from "./documents.ts";

export const FIVE = [
  "gateway.intent",
  "gateway.execute",
  "gateway.adapters",
  "gateway.tools",
  "gateway.reference",
];
export const card: JsonObject = {
  amount: 500000,
  email: "customer@example.com",
  authorization_code: "AUTH_xxxxx",
};
/** An operation that never answers. */
export const SILENT = "paystack:read-part110";
export const CHARGE = "paystack:charge-authorization";

/** A request that came to the API behind all adapters. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** What the rows share. */
export const world = {} as {
  gateway: Gateway;
  /** Where the gateway is served over HTTP. */
  origin: string;
  /** A client that is connected over MCP. */
  client: Client;
  /** The address of the API. */
  api: string;
  received: Received[];
  records: MemorySink["records"];
  folder: string;
  /** The file that the registry is written to. */
  registry: string;
};

/** Serves a gateway on 18 adapters, all of which have one API on this machine. Called in `beforeAll`. */
export async function openWorld(): Promise<void> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const sent = await text(request);
    const { method = "", url = "", headers } = request;
    const body = sent === "" ? undefined : (JSON.parse(sent) as JsonObject);
    received.push({ method, url, headers, body });
    if (url === "/parts/110") return;
    const isDeclined = body?.["amount"] === 13;
    response.writeHead(isDeclined ? 400 : 200, { "content-type": "application/json" });
    response.end(
      JSON.stringify(
        isDeclined
          ? { status: false, message: "Declined", code: "invalid_key" }
          : {
              status: true,
              message: "Charge attempted",
              data: { reference: "ref_xxxxx", status: "success", amount: 500000 },
            },
      ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  const api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const documents = Object.keys(counts).map((id) => [`${id}.json`, JSON.stringify(createDocument(id))]);
  const folder = await folderForAll(Object.fromEntries(documents));
  const sink = memorySink();
  const registry = join(folder, "registry", "operations.json");
  process.env["PAYSTACK_SECRET_KEY"] = "sk_canary";
  const config: LoadedConfig = {
    preset,
    plugins: [health()],
    options: {
      [audit.pluginName]: { sink },
      openapi: { adapters: toAdapters(folder, api) },
      state: { folder: join(folder, "state") },
      registry: { path: registry },
    },
  };
  const served = await serveHttp(config);
  const client = new Client({ name: "rows", version: "1" });
  afterAll(async () => {
    await client.close();
    await served.close();
  });
  await client.connect(new StreamableHTTPClientTransport(new URL(served.url)));
  const { origin } = new URL(served.url);
  Object.assign(world, { origin, client, api, received, folder, registry });
  Object.assign(world, { gateway: served.gateway, records: sink.records });
}

/** The 18 adapters, as a config has them. */
function toAdapters(folder: string, server: string): Record<string, JsonObject> {
  const names = Object.keys(counts);
  return Object.fromEntries(
    names.map((id) => [id, { document: join(folder, `${id}.json`), server, allowPrivate: true }]),
  );
}

/** The entry of Paystack's own document, as a config has it. */
export function paystackEntry(): JsonObject {
  return { document: paystackFile, server: world.api, allowPrivate: true };
}

/** Opens a gateway on Paystack alone, or on tools of a plugin too, until the test ends. */
export async function openSmall(
  options: Readonly<Record<string, object>> = {},
  plugins: readonly Plugin[] = [],
): Promise<Gateway> {
  return openGateway({
    preset,
    plugins,
    options: {
      [audit.pluginName]: { sink: memorySink() },
      openapi: { adapters: { paystack: paystackEntry() } },
      state: { folder: await temporaryFolder() },
      ...options,
    },
  });
}

/** Starts `toolpipe serve --http` with the 18 adapters as a process, for all rows of a file. */
export async function startProcess(more: JsonObject = {}): Promise<Serving & { readonly url: URL }> {
  const folder = await folderForAll();
  const config = { preset: "gateway", sources: [], adapters: toAdapters(world.folder, world.api), ...more };
  await writeFiles(folder, { "toolpipe.config.json": JSON.stringify(config) });
  const serving = await serveForAll(["--http", "0", "--config", "toolpipe.config.json"], folder);
  const [address = ""] = /http:\S+/.exec(await serving.line(" tools at http")) ?? [];
  return { ...serving, url: new URL(address) };
}

const started = new Map<string, ReturnType<typeof startProcess>>();

/** Starts a process in a mode, once for all rows that need one. */
export function serveIn(mode: "lazy" | "full"): ReturnType<typeof startProcess> {
  const known = started.get(mode) ?? startProcess({ discovery: { mode } });
  started.set(mode, known);
  return known;
}

/** Calls one of the five tools over MCP, and returns its answer, also where it failed. */
export async function callTool(name: string, args: object = {}): Promise<JsonObject> {
  const { content } = await world.client.callTool({ name, arguments: { ...args } });
  return JSON.parse(String((content as JsonObject[])[0]?.["text"])) as JsonObject;
}

/** Calls an operation over REST. */
export async function post(
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<JsonObject & { status: number }> {
  const response = await fetch(`${world.origin}${path}`, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  return { status: response.status, ...(JSON.parse(await response.text()) as JsonObject) };
}

/** Calls one of the five tools and returns its answer; a failure of the tool itself is thrown. */
export async function ask(tool: string, args: object = {}, gateway = world.gateway): Promise<JsonObject> {
  const call = await gateway.run({ tool: `gateway:gateway.${tool}`, args });
  if (!call.ok) throw call.error;
  return JSON.parse(String(call.result.content[0]?.["text"]));
}

/** Executes an operation. */
export function execute(tool_id: string, params: object, options: object = {}): Promise<JsonObject> {
  return ask("execute", { tool_id, params, options });
}

/** Lists the tools that an agent sees. */
export function listed(gateway = world.gateway): readonly Tool[] {
  return preset.describe?.(gateway) ?? [];
}

/** Returns one of the five tools as an agent sees it. */
export function described(name: string): Tool & { readonly inputSchema: JsonObject } {
  const tool = listed().find((each) => each.name === name);
  if (!tool) throw new Error(`No tool "${name}" is listed.`);
  return tool;
}

/** Counts the tokens of a value as a model reads it. */
export function countTokens(value: unknown): number {
  return encode(JSON.stringify(value)).length;
}

/** Runs a function, and returns what came to the API meanwhile. */
export async function watch(run: () => Promise<unknown>): Promise<readonly Received[]> {
  const before = world.received.length;
  await run();
  return world.received.slice(before);
}

/** Connects a client of its own until the test ends; with an answer, it can be asked, and gives that one. */
export async function connect(url: URL, answer?: ElicitResult): Promise<Client> {
  const capabilities = answer ? { elicitation: {} } : {};
  const client = new Client({ name: "rows", version: "1" }, { capabilities });
  if (answer) client.setRequestHandler("elicitation/create", () => Promise.resolve(answer));
  await client.connect(new StreamableHTTPClientTransport(url));
  onTestFinished(() => client.close());
  return client;
}
