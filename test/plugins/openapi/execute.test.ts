import { createServer } from "node:net";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { httpStatusMeta } from "../../../core/services/adapters.ts";
import { requestMeta } from "../../../core/services/policy.ts";
import { type Answer, json, type RestServer, restServer } from "../../fixtures/openapi/faulty-rest.ts";
import { getError } from "../../support/failure.ts";
import { createApi, type Opened, openAdapters } from "./_open.ts";

process.env["OPENAPI_TEST_ID"] = "me";
process.env["OPENAPI_TEST_SECRET"] = "canary-7f3a";

const media = {
  "application/json": { schema: { type: "object", properties: { amount: { type: "integer" } } } },
};
const paths = {
  "/it": {
    get: { operationId: "read" },
    post: { operationId: "write", requestBody: { required: true, content: media } },
    delete: { operationId: "remove", requestBody: { content: media } },
    head: { operationId: "head" },
  },
};

async function served(
  answer: Answer,
  options: JsonObject = {},
  document: JsonObject = {},
): Promise<Opened & RestServer> {
  const server = await restServer(answer);
  const adapter = {
    document: createApi(paths, document),
    server: server.origin,
    allowPrivate: true,
    ...options,
  };
  return { ...(await openAdapters({ api: adapter })), ...server };
}

test("returns a JSON answer as structured content and as a text block", async () => {
  const { run, received } = await served((_, response) => json(response, { id: 7 }, 201));
  const call = await run("api:write", { amount: 5 });
  expect(call.ok && call.result).toEqual({
    content: [{ type: "text", text: '{"id":7}' }],
    structuredContent: { id: 7 },
    _meta: { [httpStatusMeta]: 201 },
  });
  expect(received[0]).toMatchObject({
    method: "POST",
    url: "/it",
    body: '{"amount":5}',
    headers: { "content-type": "application/json", "content-length": "12" },
  });
});

test("a body is sent with methods that seldom have one", async () => {
  const { run, received } = await served((_, response) => json(response, []));
  const call = await run("api:remove", { amount: 5 });
  expect(received[0]).toMatchObject({ method: "DELETE", body: '{"amount":5}' });
  expect(call.ok && call.result.structuredContent).toEqual([]);
});

test.each([400, 404, 500, 503])(
  "the status %d is a failure of the tool, with status and body",
  async (status) => {
    const { run } = await served((_, response) => json(response, { message: "no" }, status));
    const call = await run("api:read");
    expect(call.ok && call.result).toMatchObject({
      isError: true,
      structuredContent: { status, body: { message: "no" } },
      _meta: { [httpStatusMeta]: status },
    });
    expect(call.ok && call.result.content[0]?.["text"]).toMatch(
      new RegExp(`^HTTP ${status} .+\n{"message":"no"}$`),
    );
  },
);

test("an empty answer is still an answer", async () => {
  const { run } = await served((_, response) => void response.writeHead(204).end());
  const call = await run("api:remove");
  expect(call.ok && call.result.content).toEqual([{ type: "text", text: "HTTP 204 No Content" }]);
  expect((await run("api:head")).ok).toBe(true);
});

test.each([
  ["text/csv", "a,b", { type: "text", text: "a,b" }],
  ["application/problem+json", '{"a":1}', { type: "text", text: '{"a":1}' }],
  ["application/json", "not json", { type: "text", text: "not json" }],
  ["image/png", "\x89PNG", { type: "image", data: "wolQTkc=", mimeType: "image/png" }],
])("an answer of the type %s becomes what it is", async (type, text, block) => {
  const { run } = await served(
    (_, response) => void response.writeHead(200, { "content-type": type }).end(text),
  );
  const call = await run("api:read");
  expect(call.ok && call.result.content).toEqual([block]);
});

test("returns a binary answer as an embedded resource, also where it claims to be text", async () => {
  for (const type of ["application/pdf", "text/plain", ""]) {
    const { run, origin } = await served((_, response) => {
      response.writeHead(200, type ? { "content-type": type } : {}).end(Buffer.from([0xff, 0xfe, 0]));
    });
    const call = await run("api:read");
    expect(call.ok && call.result.content).toEqual([
      {
        type: "resource",
        resource: { uri: `${origin}/it`, mimeType: type || "application/octet-stream", blob: "//4A" },
      },
    ]);
  }
});

test("an answer that reaches a prototype, or is nested too deeply, is refused", async () => {
  const { run } = await served((request, response) => {
    response.setHeader("content-type", "application/json");
    response.end(
      request.method === "GET"
        ? '{"__proto__":{"polluted":1}}'
        : `${"[".repeat(100_000)}${"]".repeat(100_000)}`,
    );
  });
  expect(getError(await run("api:read"))).toMatchObject({ code: "FORBIDDEN_KEY", data: { sent: true } });
  expect(getError(await run("api:write", {}))).toMatchObject({
    code: "RESPONSE_TOO_DEEP",
    data: { sent: true },
  });
});

test("a failure says whether anything was sent: not if no server listens", async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, "127.0.0.1", resolve));
  const { port } = closed.address() as { port: number };
  await new Promise((resolve) => closed.close(resolve));
  const { run } = await served(() => {}, { server: `http://127.0.0.1:${port}` });
  expect(getError(await run("api:write", {}))).toMatchObject({
    code: "CONNECT_FAILED",
    data: { sent: false },
  });
});

test("a failure says whether anything was sent: it was where the connection ends before the answer", async () => {
  const { run } = await served((_, __, raw) => void raw.socket.destroy());
  expect(getError(await run("api:write", {}))).toMatchObject({
    code: "UPSTREAM_CLOSED",
    data: { sent: true },
  });
});

test("a failure says whether anything was sent: it was where the answer ends in its middle", async () => {
  const { run } = await served((_, response, raw) => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "100" }).write('{"a":');
    setImmediate(() => raw.socket.destroy());
  });
  expect(getError(await run("api:write", {}))).toMatchObject({
    code: "UPSTREAM_CLOSED",
    data: { sent: true },
  });
});

test("a server that never answers times out after the limit of its adapter", async () => {
  const { run } = await served(() => {}, { timeoutMs: 700 });
  expect(getError(await run("api:write", {}))).toMatchObject({
    code: "TIMEOUT",
    data: { ms: 700, sent: true },
  });
});

test("an answer that trickles in is abandoned on too, and the time a caller asks for counts where it is shorter", async () => {
  const { run } = await served(
    (_, response) => {
      response.writeHead(200, { "content-type": "text/plain" });
      const timer = setInterval(() => response.write("x"), 20);
      response.on("close", () => clearInterval(timer));
    },
    { timeoutMs: 10_000 },
  );
  const call = await run("api:read", {}, { meta: { [requestMeta.timeoutMs]: 150 } });
  expect(getError(call)).toMatchObject({ code: "TIMEOUT", data: { ms: 150 } });
});

test("a call that is cancelled ends its request", async () => {
  const abort = new AbortController();
  let ended: (() => void) | undefined;
  const closed = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const { run } = await served((_, __, raw) => {
    raw.socket.on("close", () => ended?.());
    abort.abort();
  });
  expect(getError(await run("api:read", {}, { signal: abort.signal }))).toMatchObject({ code: "CANCELLED" });
  await closed;
});

test.each([301, 302, 303, 307, 308])("a reading request follows the redirect %d", async (status) => {
  const { run } = await served(
    (request, response) => {
      if (request.url === "/it") response.writeHead(status, { location: "/there" }).end();
      else json(response, { at: request.url, key: request.headers["x-key"] });
    },
    { headers: { "X-Key": "k" } },
  );
  const call = await run("api:read");
  expect(call.ok && call.result.structuredContent).toEqual({ at: "/there", key: "k" });
});

test("a request that changes something is repeated only if the server asks for it, and read where it points to", async () => {
  const statuses = [307, 303, 302];
  const { run, received } = await served((request, response) => {
    if (request.url === "/it")
      response.writeHead(statuses.shift() ?? 500, { location: "/there?secret=1" }).end();
    else json(response, {});
  });
  await run("api:write", { amount: 1 });
  await run("api:write", { amount: 2 });
  const third = await run("api:write", { amount: 3 });
  expect(received.map(({ method, url, body }) => `${method} ${url} ${body}`)).toEqual([
    'POST /it {"amount":1}',
    'POST /there?secret=1 {"amount":1}',
    'POST /it {"amount":2}',
    "GET /there?secret=1 ",
    'POST /it {"amount":3}',
  ]);
  expect(third.ok && third.result).toMatchObject({
    isError: true,
    structuredContent: { status: 302, location: expect.stringMatching(/\/there$/) },
  });
});

test("stops following endless redirects", async () => {
  const { run, received } = await served(
    (_, response) => void response.writeHead(302, { location: "/it" }).end(),
  );
  const call = await run("api:read");
  expect(call.ok && call.result).toMatchObject({ isError: true, structuredContent: { status: 302 } });
  expect(received).toHaveLength(6);
});

test("the body of a request is not sent to another origin", async () => {
  const other = await restServer((_, response) => json(response, {}));
  const { run } = await served(
    (_, response) => void response.writeHead(307, { location: `${other.origin}/x` }).end(),
  );
  const call = await run("api:write", { amount: 1 });
  expect(call.ok && call.result).toMatchObject({ isError: true, structuredContent: { status: 307 } });
  expect(other.received).toEqual([]);
});

const oauth = {
  security: [{ it: [] }],
  components: {
    securitySchemes: { it: { type: "oauth2", flows: { clientCredentials: { tokenUrl: "", scopes: {} } } } },
  },
};

test("a token is asked for once by many calls at a time, used until it ends, and asked for again once it was refused", async () => {
  let tokens = 0;
  let refuse = false;
  const server = await restServer((request, response) => {
    if (request.url === "/token") json(response, { access_token: `t${++tokens}`, expires_in: 3600 });
    else json(response, { as: request.headers.authorization }, refuse ? 401 : 200);
  });
  const auth = {
    type: "oauth2" as const,
    clientIdEnv: "OPENAPI_TEST_ID",
    clientSecretEnv: "OPENAPI_TEST_SECRET",
    tokenUrl: `${server.origin}/token`,
    scopes: ["read", "write"],
  };
  const adapter = { document: createApi(paths, oauth), server: server.origin, allowPrivate: true, auth };
  const { run } = await openAdapters({ api: adapter });
  const calls = await Promise.all(Array.from({ length: 10 }, () => run("api:read")));
  for (const call of calls) expect(call.ok && call.result.structuredContent).toEqual({ as: "Bearer t1" });
  expect(tokens).toBe(1);
  expect(server.received[0]).toMatchObject({
    method: "POST",
    url: "/token",
    body: "grant_type=client_credentials&scope=read+write",
    headers: { authorization: `Basic ${Buffer.from("me:canary-7f3a").toString("base64")}` },
  });
  refuse = true;
  await run("api:read");
  refuse = false;
  const after = await run("api:read");
  expect(after.ok && after.result.structuredContent).toEqual({ as: "Bearer t2" });
});

test("a token that has ended is not used", async () => {
  let tokens = 0;
  const { run, origin } = await served((request, response) => {
    if (request.url === "/token") json(response, { access_token: `t${++tokens}` });
    else json(response, {});
  });
  const auth = {
    type: "oauth2" as const,
    clientIdEnv: "OPENAPI_TEST_ID",
    clientSecretEnv: "OPENAPI_TEST_SECRET",
    tokenUrl: `${origin}/token`,
  };
  const other = await openAdapters({
    api: { document: createApi(paths), server: origin, allowPrivate: true, auth },
  });
  await other.run("api:read");
  await other.run("api:read");
  expect(tokens).toBe(2);
  await run("api:read");
  expect(tokens).toBe(2);
});

test("a refused client is told so, without its secret, and nothing was sent", async () => {
  const server = await restServer((_, response) =>
    json(response, { error: "invalid_client", error_description: "canary-7f3a" }, 401),
  );
  const auth = {
    type: "oauth2" as const,
    clientIdEnv: "OPENAPI_TEST_ID",
    clientSecretEnv: "OPENAPI_TEST_SECRET",
    tokenUrl: `${server.origin}/token`,
  };
  const { run } = await openAdapters({
    api: { document: createApi(paths), server: server.origin, allowPrivate: true, auth },
  });
  const error = getError(await run("api:write", {}));
  expect(error).toMatchObject({ code: "NEEDS_AUTH", data: { status: 401, sent: false } });
  expect(error.message).toContain("invalid_client");
  expect(JSON.stringify(error)).not.toContain("canary");
});

test("a call without a server address names the option to set", async () => {
  const { run } = await openAdapters({ api: { document: createApi(paths) } });
  expect(getError(await run("api:read"))).toMatchObject({ code: "CONFIG_INVALID", data: { sent: false } });
  expect(getError(await run("api:read")).message).toContain("adapters.api.server");
});

test("closing the gateway ends its connections", async () => {
  let ended: (() => void) | undefined;
  const closed = new Promise<void>((resolve) => {
    ended = resolve;
  });
  const { run, gateway } = await served((_, response, raw) => {
    raw.socket.on("close", () => ended?.());
    json(response, {});
  });
  await run("api:read");
  await gateway.close();
  await closed;
  expect(getError(await run("api:read")).code).toBe("CLOSED");
});
