import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { describe, expect, test } from "vitest";
import { definePlugin, definePreset, textResult } from "../../../../core/mod.ts";
import {
  ask,
  askModern,
  modernHeaders,
  modernMeta,
  preset,
  readAnswer,
  send,
  serveGateway,
} from "../_http.ts";

const version = "io.modelcontextprotocol/protocolVersion";
const capabilities = "io.modelcontextprotocol/clientCapabilities";

/** Returns the answer of the SDK, which is the reference for the modern protocol. */
async function judged(body: unknown, headers: Record<string, string>): Promise<[number, unknown]> {
  const handler = createMcpHandler(() => {
    const server = new Server({ name: "judge", version: "1.0.0" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({ tools: [] }));
    server.setRequestHandler("tools/call", () => ({ content: [] }));
    return server;
  });
  const response = await handler.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...headers,
      },
      body: JSON.stringify(body),
    }),
  );
  return readVerdict(response);
}

async function readVerdict(response: Response): Promise<[number, unknown]> {
  const text = await response.text();
  const code = /"code":(-?\d+)/.exec(text)?.[1];
  return [response.status, code && Number(code)];
}

function request(method: string, params: object, id: unknown = 1): object {
  return { jsonrpc: "2.0", ...(id !== undefined && { id }), method, params };
}

describe("what the modern protocol wants of a request is wanted as the SDK wants it", () => {
  const call = { name: "now", arguments: {}, _meta: modernMeta };
  const all = modernHeaders("tools/call", "now");
  const without = (name: string): Record<string, string> =>
    Object.fromEntries(Object.entries(all).filter(([key]) => key !== name));

  test.each<[string, unknown, Record<string, string>]>([
    ["all is well", request("tools/call", call), all],
    ["the name is encoded", request("tools/call", call), { ...all, "mcp-name": "=?base64?bm93?=" }],
    ["blanks stand around a header", request("tools/call", call), { ...all, "mcp-name": " now\t" }],
    ["the version header is missing", request("tools/call", call), without("mcp-protocol-version")],
    ["the method header is missing", request("tools/call", call), without("mcp-method")],
    ["the name header is missing", request("tools/call", call), without("mcp-name")],
    ["no header is there", request("tools/call", call), {}],
    [
      "another version is named",
      request("tools/call", call),
      { ...all, "mcp-protocol-version": "2025-11-25" },
    ],
    ["another method is named", request("tools/call", call), { ...all, "mcp-method": "tools/list" }],
    ["another name is named", request("tools/call", call), { ...all, "mcp-name": "never" }],
    ["the name differs in case", request("tools/call", call), { ...all, "mcp-name": "NOW" }],
    ["the name is encoded wrongly", request("tools/call", call), { ...all, "mcp-name": "=?base64?!?=" }],
    ["the name is no text", request("tools/call", call), { ...all, "mcp-name": "=?base64?/w==?=" }],
    ["nothing is claimed under a new header", request("tools/call", { name: "now" }), all],
    [
      "no capabilities are claimed",
      request("tools/call", { ...call, _meta: { [version]: "2026-07-28" } }),
      all,
    ],
    [
      "the capabilities are none",
      request("tools/call", { ...call, _meta: { ...modernMeta, [capabilities]: [] } }),
      all,
    ],
    ["the version is none", request("tools/call", { ...call, _meta: { ...modernMeta, [version]: 1 } }), all],
    [
      "an unknown version is claimed",
      request("tools/call", { ...call, _meta: { ...modernMeta, [version]: "2099-01-01" } }),
      { ...all, "mcp-protocol-version": "2099-01-01" },
    ],
    [
      "an old version is claimed in the new manner",
      request("tools/call", { ...call, _meta: { ...modernMeta, [version]: "2025-11-25" } }),
      { ...all, "mcp-protocol-version": "2025-11-25" },
    ],
    ["a method does not exist", request("no/such", { _meta: modernMeta }), modernHeaders("no/such")],
    ["ping is gone", request("ping", { _meta: modernMeta }), modernHeaders("ping")],
    ["initialize is gone", request("initialize", { _meta: modernMeta }), modernHeaders("initialize")],
    [
      "a session begins under a new header",
      request("initialize", { protocolVersion: "2025-11-25", capabilities: {} }),
      { "mcp-protocol-version": "2026-07-28" },
    ],
    ["a notice needs no claim", request("notifications/x", {}, undefined), modernHeaders("notifications/x")],
    [
      "a notice names another method",
      request("notifications/x", {}, undefined),
      modernHeaders("notifications/y"),
    ],
    [
      "a notice claims a version that is none",
      request("notifications/x", { _meta: { [version]: 1 } }, undefined),
      modernHeaders("notifications/x"),
    ],
    ["a batch holds a modern request", [request("tools/call", call)], all],
    ["a batch holds nothing", [], {}],
    [
      "an old request comes under an unknown version",
      request("ping", {}),
      { "mcp-protocol-version": "1999" },
    ],
    ["an old request comes without any", request("ping", {}), {}],
    ["an answer comes", { jsonrpc: "2.0", id: 1, result: {} }, {}],
  ])("%s", async (_what, body, headers) => {
    const { url } = await serveGateway({ preset: preset([]) });
    expect(await readVerdict(await send(url, body, { headers }))).toEqual(await judged(body, headers));
  });
});

test("a refusal names which request it answers", async () => {
  const { url } = await serveGateway();
  const body = request("tools/list", { _meta: modernMeta }, "mine");
  expect(await readAnswer(send(url, body))).toMatchObject({ id: "mine", error: { code: -32020 } });
});

test("a tool that does not exist is missing for MCP, and not for HTTP", async () => {
  const { url } = await serveGateway();
  const response = await askModern(url, "tools/call", { name: "nope" });
  expect(response.status).toBe(200);
  expect(await readAnswer(response)).toMatchObject({ error: { code: -32601 } });
});

describe("an argument that is also a header", () => {
  const inputSchema = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      inner: { type: "object", properties: { size: { type: "integer", "x-mcp-header": "Size" } } },
      sure: { type: "boolean", "x-mcp-header": "Sure" },
      other: { type: "string" },
    },
  };
  const mirrored = definePlugin({
    name: "mirrored",
    setup: (gateway) => ({
      ready: async () =>
        void (await gateway.catalog.replace({ id: "far" }, [{ name: "query", inputSchema }])),
      execute: (call) => {
        call.result = textResult("ran");
      },
    }),
  })();
  const config = { preset: definePreset({ name: "far", plugins: [mirrored] }) };
  const args = { region: "Zürich", inner: { size: 42 }, sure: true, other: "x" };
  const right = {
    "mcp-param-region": "=?base64?WsO8cmljaA==?=",
    "mcp-param-size": "42.0",
    "mcp-param-sure": "true",
  };

  test("must be there and the same", async () => {
    const { url } = await serveGateway(config);
    const call = (headers: Record<string, string>, given: object = args): Promise<Response> =>
      askModern(url, "tools/call", { name: "query", arguments: given }, { headers });
    expect((await call(right)).status).toBe(200);
    expect((await call({}, { other: "x", region: null })).status).toBe(200);
    for (const wrong of [
      {},
      { ...right, "mcp-param-region": "Zurich" },
      { ...right, "mcp-param-region": "=?base64?WsO8cmljaA?=" },
      { ...right, "mcp-param-size": "43" },
      { ...right, "mcp-param-size": "4e1" },
      { ...right, "mcp-param-sure": "TRUE" },
    ]) {
      const response = await call(wrong);
      expect([response.status, await response.json()]).toMatchObject([400, { error: { code: -32020 } }]);
    }
  });

  test("is not asked for in the legacy protocol", async () => {
    const { url } = await serveGateway(config);
    const answer = await readAnswer(ask(url, "tools/call", { name: "query", arguments: args }));
    expect(answer["result"]).toEqual(textResult("ran"));
  });

  test("is asked for as the tool is now, not as it was", async () => {
    const { url, gateway } = await serveGateway(config);
    const call = (): Promise<Response> => askModern(url, "tools/call", { name: "query", arguments: args });
    expect((await call()).status).toBe(400);
    await gateway.catalog.replace({ id: "far" }, [{ name: "query", inputSchema: { type: "object" } }]);
    expect((await call()).status).toBe(200);
  });
});
