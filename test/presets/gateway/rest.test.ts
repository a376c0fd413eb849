import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { sendRaw, serveGateway } from "../../plugins/serve/_http.ts";
import { type PaySetting, paySetting } from "../_gateway-api.ts";

interface Rest extends PaySetting {
  readonly base: string;
  get(path: string, headers?: Record<string, string>): Promise<{ status: number; body: JsonObject }>;
  post(
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<{ status: number; body: JsonObject; headers: Headers }>;
}

async function rest(options?: Record<string, object>): Promise<Rest> {
  const setting = await paySetting(options);
  const server = await serveGateway(setting.config, { limits: { bytes: 10_000 } });
  const base = new URL(server.url).origin;
  const read = async (response: Response) => ({
    status: response.status,
    headers: response.headers,
    body: JSON.parse(await response.text()) as JsonObject,
  });
  return {
    ...setting,
    base,
    get: async (path, headers = {}) => read(await fetch(`${base}${path}`, { headers })),
    post: async (path, body, headers = {}) =>
      read(
        await fetch(`${base}${path}`, {
          method: "POST",
          headers: { ...(body !== undefined && { "content-type": "application/json" }), ...headers },
          ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
        }),
      ),
  };
}

const charge = "/api/adapters/pay/tools/charge-authorization";
const card = { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" };
const key = { "idempotency-key": "order-1234" };

describe("POST /api/adapters/{adapter}/tools/{tool}", () => {
  test("executes the operation with the body as its parameters, and answers as gateway.execute does", async () => {
    const { post, received } = await rest();
    expect(await post(charge, card, key)).toMatchObject({
      status: 200,
      body: {
        success: true,
        tool_id: "pay:charge-authorization",
        execution_time_ms: expect.any(Number),
        data: { status: true },
        meta: { adapter: "pay", operation: { risk_level: "high" } },
      },
    });
    expect(received).toMatchObject([{ method: "POST", body: card }]);
  });

  test("goes through the same pipeline, and is recorded", async () => {
    const { post, records } = await rest();
    expect(await post(charge, card)).toMatchObject({
      status: 400,
      body: { success: false, error: { code: "IDEMPOTENCY_REQUIRED", risk_level: "high" } },
    });
    expect(records).toMatchObject([{ tool_id: "pay:charge-authorization", outcome: "IDEMPOTENCY_REQUIRED" }]);
  });

  test("happens once under its key, and is refused where the key was another call's", async () => {
    const { post, received } = await rest();
    await post(charge, card, key);
    expect(await post(charge, card, key)).toMatchObject({ status: 200, body: { meta: { via: "replay" } } });
    expect(await post(charge, { ...card, amount: 1 }, key)).toMatchObject({
      status: 422,
      body: { error: { code: "IDEMPOTENCY_MISMATCH" } },
    });
    expect(received).toHaveLength(1);
  });

  test("takes the key in quotes, too, as the standard for it has it", async () => {
    const { post } = await rest();
    expect((await post(charge, card, { "idempotency-key": '"order-1234"' })).status).toBe(200);
  });

  test("needs no body where the operation needs nothing", async () => {
    const { post } = await rest();
    expect((await post("/api/adapters/pay/tools/list-banks")).status).toBe(200);
  });

  test("shows a dry run, and takes a confirmation", async () => {
    const { post, received } = await rest();
    expect(await post(`${charge}?dry_run=true`, card)).toMatchObject({
      status: 200,
      body: { data: { dry_run: true }, meta: { via: "dry run" } },
    });
    expect(received).toEqual([]);
    const remove = "/api/adapters/pay/tools/delete-customer";
    expect(await post(remove, { code: "CUS_1" })).toMatchObject({
      status: 428,
      body: { error: { code: "CONFIRMATION_REQUIRED" } },
    });
    expect((await post(`${remove}?confirmed=true`, { code: "CUS_1" })).status).toBe(200);
  });

  test.each([
    ["in a header", (token: string) => ["", { "Confirmation-Token": token }] as const],
    ["in the query", (token: string) => [`?confirmation=${encodeURIComponent(token)}`, {}] as const],
  ])("takes the token of a refusal %s, for that very call and once", async (_where, given) => {
    const { post, received } = await rest({ guard: { confirmation: "token" } });
    const remove = "/api/adapters/pay/tools/delete-customer";
    const refused = await post(`${remove}?confirmed=true`, { code: "CUS_1" });
    expect(refused).toMatchObject({ status: 428, body: { error: { code: "CONFIRMATION_REQUIRED" } } });
    const { details } = refused.body["error"] as { details: { confirmation: string } };
    const [query, headers] = given(details.confirmation);
    const other = await post(remove + query, { code: "CUS_2" }, headers);
    expect(other).toMatchObject({ status: 428, body: { error: { code: "CONFIRMATION_INVALID" } } });
    expect(received).toEqual([]);
    expect((await post(remove + query, { code: "CUS_1" }, headers)).status).toBe(200);
    const again = await post(remove + query, { code: "CUS_1" }, headers);
    expect(again).toMatchObject({ status: 428, body: { error: { code: "CONFIRMATION_INVALID" } } });
    expect(received).toHaveLength(1);
  });

  test("answers with images within its JSON", async () => {
    const { post } = await rest();
    expect(await post("/api/adapters/pay/tools/fetch-receipt", { id: "1" })).toMatchObject({
      status: 200,
      body: { success: true, data: null, content: [{ type: "image", mimeType: "image/png" }] },
    });
  });

  test("executes tools of MCP servers by their ids", async () => {
    const { post } = await rest();
    expect(await post("/api/adapters/demo/tools/word-count", { text: "a b c" })).toMatchObject({
      status: 200,
      body: { data: "3" },
    });
  });

  test.each([
    ["an unknown operation", "/api/adapters/pay/tools/nothing", {}, 404, "TOOL_NOT_FOUND"],
    [
      "the gateway's own tools",
      "/api/adapters/gateway/tools/gateway.intent",
      { query: "x" },
      404,
      "TOOL_NOT_FOUND",
    ],
    ["wrong parameters", charge, { ...card, amount: "x" }, 400, "INVALID_ARGUMENTS"],
    ["a failure of the API", charge, { ...card, amount: 13 }, 422, "TOOL_ERROR"],
    ["too slow", "/api/adapters/demo/tools/countdown?timeout=20", { from: 100 }, 504, "TIMEOUT"],
  ])("answers %s with the status of its kind", async (_what, path, body, status, code) => {
    const { post } = await rest();
    expect(await post(path, body, key)).toMatchObject({ status, body: { success: false, error: { code } } });
  });

  test.each([
    ["no JSON", charge, "{", {}, 400],
    ["no object", charge, "[]", {}, 400],
    ["another content type", charge, "{}", { "content-type": "text/plain" }, 415],
    ["too much", charge, JSON.stringify({ x: "x".repeat(20_000) }), {}, 413],
    ["an unknown option", `${charge}?confirm=true`, "{}", {}, 400],
    ["an option that is no boolean", `${charge}?confirmed=1`, "{}", {}, 400],
    ["a wrong encoding", "/api/adapters/%ff/tools/x", "{}", {}, 400],
    ["another address", "/api/adapters/pay", "{}", {}, 404],
  ])("refuses %s before anything is done", async (_what, path, body, headers, status) => {
    const { post, records } = await rest();
    expect(await post(path, body, headers)).toMatchObject({
      status,
      body: { success: false, error: { code: "BAD_REQUEST", message: expect.any(String) } },
    });
    expect(records).toEqual([]);
  });

  test("tells a client that calls too often when to come back", async () => {
    const limits = { payments_high_risk: { limit: 1, perMs: 60_000, burst: 1 } };
    const { post } = await rest({ rates: { limits } });
    expect((await post(charge, card, key)).status).toBe(200);
    const { status, body, headers } = await post(charge, card, { "idempotency-key": "order-5678" });
    expect([status, (body["error"] as JsonObject)["code"]]).toEqual([429, "RATE_LIMITED"]);
    expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
  });
});

describe("GET /api/adapters", () => {
  test("lists adapters as gateway.adapters does, and is recorded", async () => {
    const { get, records } = await rest();
    expect(await get("/api/adapters")).toMatchObject({ status: 200, body: { total: 3, returned: 3 } });
    expect(await get("/api/adapters?category=payments")).toMatchObject({
      body: { returned: 1, filters_applied: { category: "payments" }, adapters: [{ id: "pay" }] },
    });
    expect(records.map(({ tool_id }) => tool_id)).toEqual([
      "gateway:gateway.adapters",
      "gateway:gateway.adapters",
    ]);
  });

  test("is not to be posted to, nor an operation to be got", async () => {
    const { get, post } = await rest();
    expect((await post("/api/adapters", {})).status).toBe(405);
    expect((await get(charge)).status).toBe(405);
  });
});

describe("access", () => {
  test("refuses a page of a foreign origin", async () => {
    const { post, get, received } = await rest();
    const headers = { ...key, origin: "https://evil.example" };
    expect((await post(charge, card, headers)).status).toBe(403);
    expect((await get("/api/adapters", headers)).status).toBe(403);
    expect(received).toEqual([]);
  });

  test("a request to another host is refused", async () => {
    const { base } = await rest();
    const answer = await sendRaw(
      base,
      "GET /api/adapters HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n",
    );
    expect(answer).toMatch(/^HTTP\/1\.1 403 /);
  });
});

test("another preset is not served over REST", async () => {
  const { url } = await serveGateway();
  expect((await fetch(`${new URL(url).origin}/api/adapters`)).status).toBe(404);
});

test("MCP is where it was", async () => {
  const { base } = await rest();
  const response = await fetch(`${base}/mcp`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
  });
  expect(await response.json()).toMatchObject({ id: 1, result: {} });
});
