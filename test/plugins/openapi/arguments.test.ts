import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { type JsonObject, parseData } from "../../../core/mod.ts";
import { built, builtOne, createApi, fixture } from "./_open.ts";

const shop = (await parseData(await readFile(fixture("shop.yaml"), "utf8"), "shop.yaml")) as JsonObject;
const oldShop = JSON.parse(await readFile(fixture("shop-20.json"), "utf8")) as JsonObject;

test("path, query, header and body are one flat, strict object; of one name, the later one says where it goes", () => {
  expect(builtOne(shop, "create-order").definition.inputSchema).toEqual({
    type: "object",
    properties: {
      id: { type: "string" },
      "Idempotency-Key": { type: "string" },
      "X-Tenant": { type: "string" },
      body_id: { type: "string" },
      amount: { type: "integer", minimum: 1, description: "In cents" },
      item: { $ref: "#/$defs/Item" },
    },
    required: ["body_id", "amount"],
    additionalProperties: false,
    $defs: {
      Item: {
        type: "object",
        properties: {
          name: { type: "string" },
          parts: { type: "array", items: { type: "object", description: "What the API calls Item." } },
        },
        required: ["name"],
      },
    },
  });
});

test("an operation says its method, path, category, errors, examples, and where it takes a key", () => {
  expect(builtOne(shop, "create-order").operation).toEqual({
    method: "POST",
    path: "/orders",
    category: "Orders",
    auth: "bearer",
    examples: [{ body_id: "a1", amount: 100, item: { name: "tea" } }],
    errors: [
      { status: "402", meaning: "Not enough money" },
      { status: "default", meaning: "Something else" },
    ],
    idempotencyHeader: "Idempotency-Key",
    canResend: false,
    deprecated: false,
    contract: expect.stringMatching(/^[0-9a-f]{64}$/),
  });
  expect(builtOne(shop, "health").operation.auth).toBe("none");
  expect(builtOne(shop, "get-order").operation.examples).toEqual([{ id: "a1" }]);
});

describe("an example that a document gives elsewhere, and refers to, is taken from there", () => {
  const components = {
    schemas: {
      Id: { type: "string", example: "a1" },
      Kind: { type: "string", examples: ["tea"] },
      Order: {
        type: "object",
        required: ["kind"],
        properties: { kind: { $ref: "#/components/schemas/Kind" }, constructor: { type: "string" } },
      },
      Told: {
        type: "object",
        properties: { kind: { type: "string" } },
        example: { kind: "coffee" },
      },
      Loop: { $ref: "#/components/schemas/Loop" },
      Pointing: { type: "object", properties: { a: {} }, example: { $ref: "#/components/examples/A" } },
      Values: { type: "array", items: {}, example: { $ref: "#/components/examples/Bare" } },
    },
    examples: { A: { summary: "One", value: { a: 1 } }, Bare: [1, 2] },
  };
  const ref = (name: string): JsonObject => ({ $ref: `#/components/schemas/${name}` });
  const listExamples = (schema: JsonObject, parameters: readonly JsonObject[] = []): unknown => {
    const requestBody = { required: true, content: { "application/json": { schema } } };
    const post = { operationId: "post", parameters, requestBody };
    return builtOne(createApi({ "/it": { post } }, { components })).operation.examples;
  };

  test.each([
    ["of a field", ref("Order"), [{ kind: "tea" }]],
    ["of the whole body", ref("Told"), [{ kind: "coffee" }]],
    ["in place of a value", ref("Pointing"), [{ a: 1 }]],
    ["that is a value and no example", ref("Values"), [{ body: [1, 2] }]],
    ["that is not there", { type: "object", properties: { a: ref("Nothing") } }, []],
    ["that leads to itself", { type: "object", properties: { a: ref("Loop") } }, []],
    [
      "outside the document",
      { type: "object", properties: { a: {} }, example: { $ref: "file:///etc/hosts" } },
      [],
    ],
  ])("one %s", (_which, schema, examples) => expect(listExamples(schema)).toEqual(examples));

  test("one of a parameter", () => {
    const id = { name: "id", in: "query", required: true, schema: ref("Id") };
    expect(listExamples(ref("Told"), [id])).toEqual([{ id: "a1", kind: "coffee" }]);
  });
});

test("names, titles, descriptions, tags and hints come from the document", () => {
  const all = built(shop);
  expect(all.map(({ definition }) => definition.name)).toEqual([
    "list-orders",
    "create-order",
    "get-order",
    "delete-orders-id",
    "health",
  ]);
  expect(all[1]).toMatchObject({
    definition: {
      title: "Create an order",
      description: "Create an order. Creates an order, and charges for it.",
      annotations: {
        readOnlyHint: false,
        destructiveHint: false,
        idempotentHint: false,
        openWorldHint: true,
      },
    },
    tags: ["orders", "money"],
  });
  expect(all[3]?.definition).toMatchObject({
    description: "Deprecated. DELETE /orders/{id}",
    annotations: { readOnlyHint: false, destructiveHint: true, idempotentHint: true },
  });
  expect(all[0]?.definition.annotations).toMatchObject({ readOnlyHint: true, destructiveHint: false });
});

test("Swagger 2.0: a body, a form with a file, and lists in their old formats", () => {
  const [list, create, photo] = built(oldShop);
  expect(list?.definition).toMatchObject({
    name: "orders-list",
    inputSchema: {
      properties: { ids: { type: "array", items: { type: "integer" } }, states: { type: "array" } },
    },
  });
  expect(create?.definition.inputSchema).toEqual({
    type: "object",
    properties: { amount: { type: "number", exclusiveMinimum: 0 }, note: { type: ["string", "null"] } },
    required: ["amount"],
    additionalProperties: false,
  });
  expect(photo?.definition.inputSchema).toMatchObject({
    properties: {
      id: { type: "integer" },
      photo: { type: "string", contentEncoding: "base64" },
      caption: { type: "string" },
    },
    required: ["id", "photo"],
  });
  expect(photo?.plan.server).toBe("https://old.shop.example/v0");
});

test("a key that proves who calls is no argument, even where it is listed as a parameter", () => {
  const [list] = built(oldShop);
  expect(Object.keys(list?.definition.inputSchema["properties"] as object)).toEqual(["ids", "states"]);
  expect(list?.operation.auth).toBe("apiKey");
});

function postBody(schema: JsonObject, required = true): JsonObject {
  return builtOne(
    createApi({ "/x": { post: { requestBody: { required, content: { "application/json": { schema } } } } } }),
  ).definition.inputSchema;
}

test("a body that is no object of known properties is one argument", () => {
  const list = { type: "array", items: { type: "string" } };
  expect(postBody(list)).toMatchObject({ properties: { body: list }, required: ["body"] });
  const choice = {
    oneOf: [
      { type: "object", properties: { a: {} } },
      { type: "object", properties: { b: {} } },
    ],
  };
  expect(postBody(choice)).toMatchObject({ properties: { body: { anyOf: [{}, {}] } } });
  expect(postBody({ type: "object" }, false)).not.toHaveProperty("required");
});

test("a choice between sets of required properties leaves a body flat", () => {
  const schema = {
    type: "object",
    properties: { a: {}, b: {} },
    anyOf: [{ required: ["a"] }, { required: ["b"] }],
  };
  expect(Object.keys(postBody(schema)["properties"] as object)).toEqual(["a", "b"]);
});

test("further properties of a body can be given where the document allows them", () => {
  const schema = { type: "object", properties: { a: {} }, additionalProperties: { type: "integer" } };
  expect(postBody(schema)["properties"]).toMatchObject({
    additional_fields: { type: "object", additionalProperties: { type: "integer" } },
  });
});

test("where a document does not say whether a body is needed, one with required fields is", () => {
  const schema = { type: "object", required: ["a"], properties: { a: {}, b: {} } };
  const content = { "application/json": { schema } };
  const { definition } = builtOne(createApi({ "/x": { post: { requestBody: { content } } } }));
  expect(definition.inputSchema["required"]).toEqual(["a"]);
});

test("nothing of a body is required where there need not be one", () => {
  expect(postBody({ type: "object", required: ["a"], properties: { a: {} } }, false)).not.toHaveProperty(
    "required",
  );
});

test("a required property that is nowhere described asks nothing of callers", () => {
  expect(postBody({ type: "object", required: ["a", "ghost"], properties: { a: {} } })["required"]).toEqual([
    "a",
  ]);
});

test("parameters of a path, and those declared twice or not at all, are each there once", () => {
  const parameter = (description: string): JsonObject => ({
    name: "q",
    in: "query",
    description,
    schema: {},
  });
  const item = {
    parameters: [parameter("of the path"), { name: "p", in: "query" }],
    get: { parameters: [parameter("of the operation"), parameter("again"), { name: "gone", in: "path" }] },
  };
  expect(builtOne(createApi({ "/x/{id}": item })).definition.inputSchema).toEqual({
    type: "object",
    properties: { id: { type: "string" }, q: { description: "of the operation" }, p: {} },
    required: ["id"],
    additionalProperties: false,
  });
});

test("headers that are the connection's own, or that no header can be called, are no arguments", () => {
  const names = [
    "Host",
    "content-length",
    "Transfer-Encoding",
    "Authorization",
    "Accept",
    "a b",
    "X: y",
    "X-Ok",
  ];
  const parameters = names.map((name) => ({ name, in: "header", schema: {} }));
  const { inputSchema } = builtOne(createApi({ "/x": { get: { parameters } } })).definition;
  expect(Object.keys(inputSchema["properties"] as object)).toEqual(["X-Ok"]);
});

test("webhooks are no operations, and odd parts of a document cost nothing but themselves", () => {
  const document = createApi(
    {
      "/a": null,
      "/b": { get: null, post: "x", put: { operationId: 7, parameters: "none", responses: [], tags: "x" } },
      "x-more": { get: {} },
      c: { get: { responses: {} } },
    },
    { webhooks: { made: { post: {} } }, servers: "nowhere", security: {}, components: [] },
  );
  expect(built(document).map(({ definition }) => definition.name)).toEqual(["put-b", "get-c"]);
});
