import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import type { Gateway, GatewayOptions, JsonObject, Tool } from "../../../core/mod.ts";
import { audit, type MemorySink, memorySink } from "../../../plugins/audit/mod.ts";
import { gateway as preset } from "../../../presets/gateway/mod.ts";
import { folderForAll, openForAll } from "../shared.ts";

const paystackFile = fileURLToPath(new URL("../../fixtures/paystack/paystack.json", import.meta.url));

/** Adapters of the specification's table with their numbers of tools, and thirteen more: 1,604 operations of 18 adapters. */
export const counts: Readonly<Record<string, number>> = {
  "stripe-api-2024-04-10": 457,
  "ngrok-api": 217,
  paystack: 117,
  "flutterwave-v3": 108,
  "shutterstock-api": 109,
  ...Object.fromEntries(
    Array.from({ length: 13 }, (_, index) => [`more-${index + 1}`, index < 11 ? 46 : 45]),
  ),
};
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
  options: GatewayOptions;
  received: Received[];
  records: MemorySink["records"];
  folder: string;
};

/** Opens a gateway on 18 adapters, all of which are served by one API on this machine. Called in `beforeAll`. */
export async function openWorld(): Promise<void> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const sent = await text(request);
    const { method = "", url = "", headers } = request;
    const body = sent === "" ? undefined : (JSON.parse(sent) as JsonObject);
    received.push({ method, url, headers, body });
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
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const documents = Object.keys(counts).map((id) => [`${id}.json`, JSON.stringify(createDocument(id))]);
  const folder = await folderForAll(Object.fromEntries(documents));
  const sink = memorySink();
  process.env["PAYSTACK_SECRET_KEY"] = "sk_canary";
  const adapters = Object.fromEntries(
    Object.keys(counts).map((id) => [
      id,
      { document: join(folder, `${id}.json`), server: url, allowPrivate: true },
    ]),
  );
  const options: GatewayOptions = {
    preset,
    options: {
      [audit.pluginName]: { sink },
      openapi: { adapters },
      state: { folder: join(folder, "state") },
    },
  };
  Object.assign(world, { options, received, records: sink.records, folder });
  world.gateway = await openForAll(options);
  await world.gateway.services.adapters?.settled();
}

/** Creates the document of an adapter: Paystack's own, or some operations that read. */
function createDocument(id: string): JsonObject {
  const own = JSON.parse(readFileSync(paystackFile, "utf8")) as { paths: JsonObject };
  const base =
    id === "paystack"
      ? own
      : {
          openapi: "3.0.3",
          info: { title: id, description: `Service ${id}.`, version: "1" },
          servers: [{ url: "https://api.example" }],
          security: [{ key: [] }],
          components: {
            securitySchemes: {
              key:
                id === "shutterstock-api"
                  ? {
                      type: "oauth2",
                      flows: { clientCredentials: { tokenUrl: "https://api.example/token", scopes: {} } },
                    }
                  : { type: "http", scheme: "bearer" },
            },
          },
          paths: {},
        };
  const first = id === "flutterwave-v3" ? { "/charges": { post: chargeCard } } : {};
  const missing = (counts[id] as number) - (id === "paystack" ? 6 : Object.keys(first).length);
  const rest = Array.from({ length: missing }, (_, index) => [
    `/parts/${index}`,
    {
      get: {
        operationId: `readPart${index}`,
        summary: `Read part ${index}`,
        tags: ["parts"],
        responses: { 200: { description: "The part" } },
      },
    },
  ]);
  return { ...base, paths: { ...base.paths, ...first, ...Object.fromEntries(rest) } };
}

const chargeCard: JsonObject = {
  operationId: "chargeCard",
  summary: "Charge card",
  description: "Charge a card",
  tags: ["charges"],
  requestBody: {
    required: true,
    content: {
      "application/json": {
        schema: { type: "object", required: ["amount"], properties: { amount: { type: "integer" } } },
      },
    },
  },
  responses: { 200: { description: "Charged" } },
};

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
