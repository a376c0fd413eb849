import { expect, test } from "vitest";
import { type JsonObject, version } from "../../../core/mod.ts";
import { requestMeta } from "../../../core/services/policy.ts";
import type { AdapterOptions } from "../../../plugins/openapi/mod.ts";
import { getError } from "../../support/failure.ts";
import { createApi, fixture, type Opened, openAdapters, type PreparedRequest } from "./_open.ts";

const servers = { servers: [{ url: "https://api.example/v1/" }] };

/** The request of the one operation of a document. */
async function describeRequest(
  operation: JsonObject,
  args: JsonObject,
  more: { path?: string; document?: JsonObject; options?: Partial<AdapterOptions>; meta?: JsonObject } = {},
): Promise<PreparedRequest> {
  const { path = "/x", document = {}, options = {}, meta } = more;
  const { dryRun } = await openAdapters({
    api: {
      ...options,
      document: createApi(
        { [path]: { post: { operationId: "go", ...operation } } },
        { ...servers, ...document },
      ),
    },
  });
  return dryRun("api:go", args, meta);
}

function body(type: string, media: JsonObject): JsonObject {
  return { requestBody: { required: true, content: { [type]: media } } };
}

test("path, query, header and cookie parameters go where they belong, under their own names", async () => {
  const parameters = [
    { name: "id", in: "path", required: true, schema: { type: "string" } },
    { name: "tags[]", in: "query", schema: { type: "array" } },
    { name: "X-Tenant", in: "header", schema: { type: "string" } },
    { name: "session", in: "cookie", schema: { type: "string" } },
    { name: "where", in: "query", content: { "application/json": { schema: { type: "object" } } } },
  ];
  const args = { id: "a b", tags: ["x", "y"], "X-Tenant": "t1", session: "s;1", where: { a: 1 } };
  expect(await describeRequest({ parameters }, args, { path: "/things/{id}" })).toEqual({
    method: "POST",
    url: "https://api.example/v1/things/a%20b?tags%5B%5D=x&tags%5B%5D=y&where=%7B%22a%22%3A1%7D",
    headers: {
      accept: "application/json, */*;q=0.5",
      "user-agent": `toolpipe/${version}`,
      "x-tenant": "t1",
      cookie: "session=s%3B1",
    },
  });
});

test("a JSON body is put together from its fields and what was given besides them", async () => {
  const schema = { type: "object", properties: { id: {}, "a b": {} }, additionalProperties: true };
  const request = await describeRequest(
    { parameters: [{ name: "id", in: "query" }], ...body("application/json", { schema }) },
    { id: "q", body_id: "b", a_b: 1, additional_fields: { more: true } },
  );
  expect(request).toMatchObject({
    url: "https://api.example/v1/x?id=q",
    headers: { "content-type": "application/json" },
    body: { id: "b", "a b": 1, more: true },
  });
});

test("a form body follows its encoding, and writes objects as JSON where none is given", async () => {
  const schema = {
    type: "object",
    properties: { deep: { type: "object" }, list: { type: "array" }, plain: {}, pipes: {}, object: {} },
  };
  const encoding = {
    deep: { style: "deepObject", explode: true },
    pipes: { style: "pipeDelimited", explode: false },
  };
  const { headers, body: text } = await describeRequest(
    body("application/x-www-form-urlencoded", { schema, encoding }),
    {
      deep: { a: { b: "c d" } },
      list: [1, 2],
      plain: "a+b&c",
      pipes: ["x", "y"],
      object: { k: true },
    },
  );
  expect(headers["content-type"]).toBe("application/x-www-form-urlencoded");
  expect(text).toBe(
    "deep%5Ba%5D%5Bb%5D=c+d&list=1&list=2&plain=a%2Bb%26c&pipes=x%7Cy&object=%7B%22k%22%3Atrue%7D",
  );
});

test("a multipart body has a part for each field, and its files come from Base64", async () => {
  const schema = {
    type: "object",
    properties: { file: { type: "string", format: "binary" }, meta: { type: "object" }, note: {} },
  };
  const encoding = { file: { contentType: "image/png, image/jpeg" } };
  const operation = body("multipart/form-data", { schema, encoding });
  const request = await describeRequest(operation, { file: "aGVsbG8=", meta: { a: 1 }, note: "n" });
  expect(request.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=toolpipe-\w+$/);
  expect(request.body).toEqual([
    { name: "file", content: "(5 bytes)", contentType: "image/png" },
    { name: "meta", content: { a: 1 }, contentType: "application/json" },
    { name: "note", content: "n" },
  ]);
});

test("refuses a file that is not Base64", async () => {
  const schema = { type: "object", properties: { file: { type: "string", format: "binary" } } };
  await expect(
    describeRequest(body("multipart/form-data", { schema }), { file: "not base64!" }),
  ).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
    data: { sent: false },
  });
});

test("a body of any other kind is sent as it is given", async () => {
  const text = await describeRequest(body("text/plain", {}), { body: "hello" });
  expect(text).toMatchObject({ headers: { "content-type": "text/plain" }, body: "hello" });
  const file = await describeRequest(body("image/jpeg", { schema: { type: "string", format: "binary" } }), {
    body: "AAEC",
  });
  expect(file.body).toBe("(3 bytes)");
});

test("of several kinds of body the one that can be written best is chosen", async () => {
  const media = { schema: { type: "object", properties: { a: {} } } };
  const content = {
    "application/xml": {},
    "application/x-www-form-urlencoded": media,
    "application/json": media,
  };
  expect(await describeRequest({ requestBody: { content } }, { a: 1 })).toMatchObject({ body: { a: 1 } });
});

test("there is no body where none is needed and nothing of it is given", async () => {
  const content = { "application/json": { schema: { type: "object", properties: { a: {} } } } };
  const request = await describeRequest({ requestBody: { content } }, {});
  expect(request.body).toBeUndefined();
  expect(request.headers).not.toHaveProperty("content-type");
  expect((await describeRequest({ requestBody: { required: true, content } }, {})).body).toEqual({});
});

test.each(["..", ".", ""])("%j cannot be part of a path: it would lead to another one", async (id) => {
  const parameters = [{ name: "id", in: "path", required: true, schema: { type: "string" } }];
  await expect(describeRequest({ parameters }, { id }, { path: "/users/{id}" })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
    data: { path: "id", sent: false },
  });
});

test.each(["a\r\nX-Admin: 1", "a\nb", "a\0b", "注"])("a header cannot be %j", async (value) => {
  const parameters = [{ name: "X-Tenant", in: "header", schema: { type: "string" } }];
  await expect(describeRequest({ parameters }, { "X-Tenant": value })).rejects.toMatchObject({
    code: "INVALID_ARGUMENTS",
  });
});

test("an argument that every object seems to have is not sent unless it was given", async () => {
  const parameters = ["constructor", "toString"].map((name) => ({ name, in: "query", schema: {} }));
  expect((await describeRequest({ parameters }, { toString: "x" })).url).toBe(
    "https://api.example/v1/x?toString=x",
  );
});

test("a query that is part of a path is kept, and what only tells paths apart is not sent", async () => {
  const operation = { parameters: [{ name: "q", in: "query", schema: {} }] };
  expect((await describeRequest(operation, { q: 1 }, { path: "/x?api-version=2" })).url).toBe(
    "https://api.example/v1/x?api-version=2&q=1",
  );
  expect((await describeRequest(operation, { q: 1 }, { path: "/x#other" })).url).toBe(
    "https://api.example/v1/x?q=1",
  );
});

test.each<[string, JsonObject[], string]>([
  ["without a scheme", [{ url: "api.other.example/v2" }], "https://api.other.example/v2/x"],
  ["with a scheme left out", [{ url: "//api.other.example" }], "https://api.other.example/x"],
  ["that is only a path", [{ url: "/v3" }], "/v3/x"],
  [
    "that is only a path, before one that is not",
    [{ url: "/v3" }, { url: "https://b.example" }],
    "https://b.example/x",
  ],
  ["that is not there", [], "/x"],
])("an address %s is used as far as it goes", async (_, list, url) => {
  expect((await describeRequest({}, {}, { document: { servers: list } })).url).toBe(url);
});

test("variables of an address have defaults, and the config may say otherwise", async () => {
  const { dryRun } = await openAdapters({ shop: { document: fixture("shop.yaml") } });
  expect((await dryRun("shop:health")).url).toBe("https://eu.shop.example/v1/health");
  const us = await openAdapters({
    shop: { document: fixture("shop.yaml"), serverVariables: { region: "us" } },
  });
  expect((await us.dryRun("shop:health")).url).toBe("https://us.shop.example/v1/health");
});

test("a variable without a value is named", async () => {
  await expect(
    describeRequest({}, {}, { document: { servers: [{ url: "https://{account}.example" }] } }),
  ).rejects.toMatchObject({ code: "CONFIG_INVALID", data: { variable: "account" } });
});

test("every request goes to the server of the config, also that of an operation with a server of its own", async () => {
  const operation = { servers: [{ url: "https://uploads.example" }] };
  expect((await describeRequest(operation, {})).url).toBe("https://uploads.example/x");
  expect(
    (await describeRequest(operation, {}, { options: { server: "https://proxy.example/api" } })).url,
  ).toBe("https://proxy.example/api/x");
});

test("the key of a call is sent in the header that the operation declares, and in no other", async () => {
  const { dryRun } = await openAdapters({ shop: { document: fixture("shop.yaml") } });
  const meta = { [requestMeta.idempotencyKey]: "key-12345678" };
  const args = { body_id: "a", amount: 1 };
  expect((await dryRun("shop:create-order", args, meta)).headers["idempotency-key"]).toBe("key-12345678");
  // The idempotency key of the guard has precedence over an argument.
  const both = await dryRun("shop:create-order", { ...args, "Idempotency-Key": "other" }, meta);
  expect(both.headers["idempotency-key"]).toBe("key-12345678");
  expect((await dryRun("shop:get-order", { id: "a" }, meta)).headers).not.toHaveProperty("idempotency-key");
});

test("an overlay may name the header for keys where the document does not", async () => {
  const options = { overlay: { idempotencyHeader: "Idempotency-Key" } };
  const meta = { [requestMeta.idempotencyKey]: "key-12345678" };
  expect((await describeRequest({}, {}, { options, meta })).headers["idempotency-key"]).toBe("key-12345678");
});

const canary = "canary-7f3a";
process.env["OPENAPI_TEST_SECRET"] = canary;

async function secured(scheme: JsonObject, auth: AdapterOptions["auth"]): Promise<Opened> {
  const document = createApi(
    { "/x": { get: { operationId: "go", parameters: [{ name: "X-Api-Token", in: "header" }] } } },
    { ...servers, security: [{ it: [] }], components: { securitySchemes: { it: scheme } } },
  );
  return openAdapters({
    api: { document, ...(auth && { auth }), headers: { "X-Team": `\${OPENAPI_TEST_SECRET}` } },
  });
}

test.each<[JsonObject, AdapterOptions["auth"], JsonObject]>([
  [
    { type: "http", scheme: "bearer" },
    { env: "OPENAPI_TEST_SECRET" },
    { headers: { authorization: "Bearer ***" } },
  ],
  [
    { type: "http", scheme: "basic" },
    { env: "OPENAPI_TEST_SECRET" },
    { headers: { authorization: "Basic ***" } },
  ],
  [
    { type: "http", scheme: "OAuth" },
    { env: "OPENAPI_TEST_SECRET" },
    { headers: { authorization: "OAuth ***" } },
  ],
  [
    { type: "apiKey", in: "header", name: "X-Key" },
    { env: "OPENAPI_TEST_SECRET" },
    { headers: { "x-key": "***" } },
  ],
  [
    { type: "apiKey", in: "query", name: "key" },
    { env: "OPENAPI_TEST_SECRET" },
    { url: "https://api.example/v1/x?key=***" },
  ],
  [
    { type: "apiKey", in: "cookie", name: "sid" },
    { env: "OPENAPI_TEST_SECRET" },
    { headers: { cookie: "sid=***" } },
  ],
  [
    { type: "oauth2", flows: {} },
    { env: "OPENAPI_TEST_SECRET" },
    { headers: { authorization: "Bearer ***" } },
  ],
])("a dry run shows where %j goes, and never what it is", async (scheme, auth, expected) => {
  const { run, dryRun } = await secured(scheme, auth);
  const request = await dryRun("api:go", { "X-Api-Token": canary });
  expect(request).toMatchObject(expected);
  const call = await run("api:go", { "X-Api-Token": canary }, { meta: { [requestMeta.dryRun]: true } });
  expect(call.via).toBe("dry run");
  expect(JSON.stringify(call.ok && call.result)).not.toContain(canary);
  expect(JSON.stringify(call.ok && call.result)).not.toContain(Buffer.from(`${canary}:`).toString("base64"));
});

test("a dry run needs no credential, and a call names the missing one", async () => {
  const { run, dryRun } = await secured({ type: "http", scheme: "bearer" }, { env: "OPENAPI_TEST_NOT_SET" });
  expect((await dryRun("api:go")).headers["authorization"]).toBe("Bearer ***");
  expect(getError(await run("api:go"))).toMatchObject({
    code: "MISSING_VARIABLE",
    data: { variables: ["OPENAPI_TEST_NOT_SET"], sent: false },
  });
});

test("the variable that an overlay names is used where the config names none", async () => {
  const document = createApi(
    { "/x": { get: { operationId: "go" } } },
    {
      ...servers,
      security: [{ it: [] }],
      components: { securitySchemes: { it: { type: "http", scheme: "bearer" } } },
    },
  );
  const { dryRun, gateway } = await openAdapters({
    api: { document, overlay: { envVar: "OPENAPI_TEST_SECRET" } },
  });
  expect((await dryRun("api:go")).headers["authorization"]).toBe("Bearer ***");
  expect(gateway.services.adapters?.get("api")).toMatchObject({
    envVar: "OPENAPI_TEST_SECRET",
    authType: "bearer",
  });
});

test("nothing is proved to an operation that asks for nothing", async () => {
  const { dryRun } = await openAdapters({
    shop: { document: fixture("shop.yaml"), auth: { env: "OPENAPI_TEST_SECRET" } },
  });
  expect((await dryRun("shop:health")).headers).not.toHaveProperty("authorization");
  expect((await dryRun("shop:get-order", { id: "a" })).headers["authorization"]).toBe("Bearer ***");
});

test("schemes that are needed together are all used, each with its own credential", async () => {
  const securitySchemes = {
    key: { type: "apiKey", in: "header", name: "App-Key" },
    token: { type: "apiKey", in: "header", name: "App-Token" },
  };
  const request = await describeRequest(
    {},
    {},
    {
      document: { security: [{ key: [], token: [] }], components: { securitySchemes } },
      options: {
        auth: [
          { scheme: "key", env: "OPENAPI_TEST_SECRET" },
          { scheme: "token", env: "OPENAPI_TEST_SECRET" },
        ],
      },
    },
  );
  expect(request.headers).toMatchObject({ "app-key": "***", "app-token": "***" });
});

test("a document that says nothing of credentials gets those of the config", async () => {
  const request = await describeRequest(
    {},
    {},
    {
      options: { auth: { type: "apiKey", in: "query", name: "k", env: "OPENAPI_TEST_SECRET" } },
    },
  );
  expect(request.url).toBe("https://api.example/v1/x?k=***");
});
