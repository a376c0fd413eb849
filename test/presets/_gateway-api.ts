import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Gateway, JsonObject, LoadedConfig, Plugin } from "../../core/mod.ts";
import { audit, type MemorySink, memorySink } from "../../plugins/audit/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { gateway as preset } from "../../presets/gateway/mod.ts";
import { openGateway } from "../support/open-gateway.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { odd } from "./_open.ts";

/** A request that came to the API. */
export interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

const money = { type: "integer", description: "Amount in kobo" };
const email = { type: "string", format: "email", description: "Email of the customer" };

/** The OpenAPI document of a small payment API. */
export function payDocument(url: string): JsonObject {
  return {
    openapi: "3.0.3",
    info: { title: "Pay", description: "Takes payments.", version: "1" },
    servers: [{ url }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: "http", scheme: "bearer" } } },
    paths: {
      "/transaction/charge_authorization": {
        post: {
          operationId: "chargeAuthorization",
          summary: "Charge Authorization",
          description: "Charge a previously authorized card",
          tags: ["transactions"],
          requestBody: body({
            required: ["amount", "email", "authorization_code"],
            properties: {
              amount: money,
              email,
              authorization_code: { type: "string" },
              currency: { type: "string" },
              metadata: { type: "object" },
            },
            example: { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" },
          }),
          responses: { 200: { description: "Charged" }, 400: { description: "The card was declined" } },
        },
      },
      "/transaction/initialize": {
        post: {
          operationId: "initializeTransaction",
          summary: "Initialize Transaction",
          description: "Start a new payment transaction",
          tags: ["transactions"],
          requestBody: body({
            required: ["amount", "email"],
            properties: { amount: money, email, reference: { type: "string" } },
          }),
          responses: { 200: { description: "Started" } },
        },
      },
      "/bank": {
        get: {
          operationId: "listBanks",
          summary: "List Banks",
          tags: ["banks"],
          parameters: [{ name: "country", in: "query", schema: { type: "string" } }],
          responses: { 200: { description: "The banks" } },
        },
      },
      "/receipt/{id}": {
        get: {
          operationId: "fetchReceipt",
          summary: "Fetch Receipt",
          description: "The receipt of a payment as an image",
          tags: ["receipts"],
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          responses: { 200: { description: "An image" } },
        },
      },
      "/customer/{code}": {
        delete: {
          operationId: "deleteCustomer",
          summary: "Delete Customer",
          tags: ["customers"],
          parameters: [{ name: "code", in: "path", required: true, schema: { type: "string" } }],
          responses: { 200: { description: "Gone" } },
        },
      },
    },
  };
}

function body(schema: JsonObject): JsonObject {
  return { required: true, content: { "application/json": { schema: { type: "object", ...schema } } } };
}

/** The API itself, on this machine until the test is over, and what came to it. */
export async function startPay(): Promise<{ url: string; received: Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const sent = await text(request);
    const { method = "", url = "", headers } = request;
    received.push({ method, url, headers, body: sent === "" ? undefined : JSON.parse(sent) });
    if (url.startsWith("/receipt")) {
      response.writeHead(200, { "content-type": "image/png" }).end(Buffer.from("PNG!"));
      return;
    }
    if (url.startsWith("/transaction") && (JSON.parse(sent) as JsonObject)["amount"] === 13) {
      response.writeHead(400, { "content-type": "application/json" });
      response.end('{"status":false,"message":"Declined","code":"card_declined"}');
      return;
    }
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"status":true,"message":"Done","data":{"id":12345678901234567890}}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    return new Promise<void>((resolve) => server.close(() => resolve()));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

/** A config of the preset over the API and two small servers, with its audit at hand. */
export interface PaySetting {
  readonly config: LoadedConfig;
  readonly received: readonly Received[];
  readonly records: MemorySink["records"];
  readonly folder: string;
}

/** Prepares the preset over the API, whose overlay says that it is for Nigeria and Ghana. */
export async function paySetting(options: Record<string, object> = {}): Promise<PaySetting> {
  const { url, received } = await startPay();
  const folder = await temporaryFolder({ "pay.json": JSON.stringify(payDocument(url)) });
  const sink = memorySink();
  process.env["PAY_KEY"] = "sk_canary";
  const adapters = {
    pay: {
      document: join(folder, "pay.json"),
      allowPrivate: true,
      auth: { env: "PAY_KEY" },
      overlay: {
        name: "Pay",
        category: "payments",
        capabilities: ["card_payments", "subscriptions"],
        countries: ["NG", "GH"],
        currencies: ["NGN", "GHS"],
        documentation: "https://pay.example/docs",
        commonOperations: ["initialize-transaction", "no-such-operation"],
        errors: [{ code: "card_declined", meaning: "The bank said no.", fix: "Ask for another card." }],
        bestPractices: ["Verify every transaction"],
        webhooks: "https://pay.example/webhooks",
      },
    },
  };
  const config = {
    preset,
    plugins: [demo(), odd],
    options: {
      [audit.pluginName]: { sink },
      openapi: { adapters },
      state: { folder: join(folder, "state") },
      guard: { trusted: ["demo"] },
      ...options,
    },
  };
  return { config, received, records: sink.records, folder };
}

/** Opens a gateway over the payment API, with a way to call its tools. */
export async function openPay(
  options?: Record<string, object>,
  extra: readonly Plugin[] = [],
): Promise<
  PaySetting & {
    readonly gateway: Gateway;
    ask(tool: string, args?: object): Promise<JsonObject>;
  }
> {
  const setting = await paySetting(options);
  const { config } = setting;
  const gateway = await openGateway({ ...config, plugins: [...(config.plugins ?? []), ...extra] });
  return {
    ...setting,
    gateway,
    async ask(tool, args = {}) {
      const call = await gateway.run({ tool: `gateway:gateway.${tool}`, args });
      if (!call.ok) throw call.error;
      return JSON.parse(String(call.result.content[0]?.["text"]));
    },
  };
}
