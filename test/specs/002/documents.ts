import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "../../../core/mod.ts";

/** Part of the document of Paystack, word for word. */
export const paystackFile: string = fileURLToPath(
  new URL("../../fixtures/paystack/paystack.json", import.meta.url),
);

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
/** Creates the document of an adapter: Paystack's own, or some operations that read. */
export function createDocument(id: string): JsonObject {
  const own = JSON.parse(readFileSync(paystackFile, "utf8")) as { paths: JsonObject };
  own.paths["/transaction/initialize"] = withAnswer(own.paths["/transaction/initialize"] as JsonObject);
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

/** Adds the answer of the specification's example to an operation. */
function withAnswer(path: JsonObject): JsonObject {
  const post = path["post"] as JsonObject;
  const example = { status: true, data: { authorization_url: "https://checkout.example/x" } };
  const good = { description: "Started", content: { "application/json": { example } } };
  return { post: { ...post, responses: { ...(post["responses"] as JsonObject), 200: good } } };
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
