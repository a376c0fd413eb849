import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, type ListToolsResult, Server } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../../core/mod.ts";
import { scanHeaderParams } from "../../../../plugins/lib/schema/header-params.ts";
import { connectHttp } from "../../../../plugins/mcp/http/connect.ts";
import { createParamHeaders } from "../../../../plugins/mcp/http/params.ts";
import { listen, readBody } from "../../../fixtures/http-servers.ts";

const header = (name: unknown, type: unknown = "string"): JsonObject => ({ type, "x-mcp-header": name });
const taking = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

describe("scanHeaderParams", () => {
  test.each<[string, JsonObject]>([
    ["no header at all", taking({ region: { type: "string" } })],
    ["one of each type", taking({ a: header("A"), b: header("B", "integer"), c: header("C", "boolean") })],
    ["one at any depth", taking({ where: taking({ region: header("Region") }) })],
    ["an argument of that name", taking({ "x-mcp-header": { type: "string" } })],
    ["that word in data", taking({ a: { type: "object", default: { "x-mcp-header": "A b" } } })],
  ])("takes a schema with %s", (_, schema) => {
    expect(scanHeaderParams(schema).fault).toBeUndefined();
  });

  test.each<[string, JsonObject, RegExp]>([
    ["an empty name", taking({ a: header("") }), /not a name of a header/],
    ["a name that is no text", taking({ a: header(1) }), /not a name of a header/],
    ["a space", taking({ a: header("My Region") }), /not a name of a header/],
    ["a line break", taking({ a: header("A\r\nHost: evil") }), /not a name of a header/],
    ["a letter beyond ASCII", taking({ a: header("Région") }), /not a name of a header/],
    ["an object", taking({ a: header("A", "object") }), /cannot hold/],
    ["a number, which has no one text", taking({ a: header("A", "number") }), /cannot hold/],
    ["several types", taking({ a: header("A", ["string", "null"]) }), /cannot hold/],
    ["the same name in other letters", taking({ a: header("Region"), b: header("region") }), /twice/],
    ["one at the root", taking({}, { "x-mcp-header": "A" }), /no single argument/],
    ["one in a list", taking({ a: { type: "array", items: header("A") } }), /no single argument/],
    ["one in a choice", taking({ a: { anyOf: [header("A")] } }), /no single argument/],
    ["one in a definition", taking({}, { $defs: { a: taking({ b: header("A") }) } }), /no single argument/],
    ["one in an unknown keyword", taking({}, { extra: { properties: { a: header("A") } } }), /no single/],
  ])("names the fault of %s", (_, schema, reason) => {
    expect(scanHeaderParams(schema).fault).toMatch(reason);
  });

  test("never takes a name that is not a token, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const { fault } = scanHeaderParams(taking({ a: header(name) }));
        const headers = new Headers();
        if (fault === undefined) headers.set(`mcp-param-${name}`, "x");
        expect([...headers.keys()]).toHaveLength(fault === undefined ? 1 : 0);
      }),
    );
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (any) => void scanHeaderParams(any)));
  });
});

describe("learning the headers of a listing", () => {
  const good = { name: "good", inputSchema: taking({ a: header("A") }) };
  const bad = { name: "bad", inputSchema: taking({ a: header("") }) };
  const rest = { resources: [], resourceTemplates: [], prompts: [] };

  test("keeps a list that has no fault as it is", () => {
    const listing = { ...rest, tools: [good], rejected: [] };
    expect(createParamHeaders().learn(listing)).toBe(listing);
  });

  test("names which tool was left out and why, after those that were left out before", () => {
    const before = { name: "", reason: "it has no name" };
    expect(createParamHeaders().learn({ ...rest, tools: [bad, good], rejected: [before] })).toEqual({
      ...rest,
      tools: [good],
      rejected: [before, { name: "bad", reason: "its x-mcp-header is not a name of a header" }],
    });
  });
});

describe("the headers of a call", () => {
  const inputSchema = taking({
    region: header("Region"),
    where: taking({ size: header("Size", "integer") }),
    sure: header("Sure", "boolean"),
  });
  const buildHeaders = (args: JsonObject): Record<string, string> | undefined => {
    const headers = createParamHeaders();
    const tools = [{ name: "a", inputSchema }];
    headers.learn({ tools, rejected: [], resources: [], resourceTemplates: [], prompts: [] });
    expect(headers.createHeaders("b", args)).toBeUndefined();
    return headers.createHeaders("a", args);
  };

  test("repeat what the arguments hold at any depth", () => {
    expect(buildHeaders({ region: "eu west", where: { size: 3 }, sure: false })).toEqual({
      "Mcp-Param-Region": "eu west",
      "Mcp-Param-Size": "3",
      "Mcp-Param-Sure": "false",
    });
  });

  test("leave out what is absent, and what no header can hold", () => {
    expect(buildHeaders({ region: null, where: "here" })).toEqual({});
    expect(buildHeaders({ region: { a: 1 }, where: { size: 2 ** 60 } })).toEqual({});
    expect(buildHeaders(JSON.parse('{"where":{"__proto__":{"size":1}}}'))).toEqual({});
  });

  test.each(["", " a", "a\t", "Zürich", "a\r\nHost: evil", "=?base64?YQ==?="])("encode %j", (region) => {
    const value = buildHeaders({ region })?.["Mcp-Param-Region"] ?? "";
    const [, encoded = ""] = /^=\?base64\?([^?]*)\?=$/.exec(value) ?? expect.fail(value);
    expect(Buffer.from(encoded, "base64").toString()).toBe(region);
  });

  test("are read from the server again where it did not get those it wants", async () => {
    const seen: (string | undefined)[] = [];
    const results: Record<string, JsonObject> = {
      "server/discover": { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } },
      "tools/list": { tools: [{ name: "a", inputSchema }] },
      "tools/call": { content: [] },
    };
    const { url, close } = await listen(async (request, response) => {
      const { id, method } = JSON.parse(await readBody(request));
      const given = request.headers["mcp-param-region"] as string | undefined;
      if (method === "tools/call") seen.push(given);
      const isRight = method !== "tools/call" || given === "eu";
      const answer = isRight
        ? { result: { resultType: "complete", ttlMs: 0, cacheScope: "private", ...results[method] } }
        : { error: { code: -32020, message: "The header Mcp-Param-Region is missing." } };
      response.writeHead(isRight ? 200 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...answer }));
    });
    onTestFinished(close);
    const upstream = await connectHttp({ type: "http", url, headers: {} }, { name: "params" });
    onTestFinished(() => upstream.close());
    expect(await upstream.call("a", { region: "eu" })).toEqual({
      content: [],
      ttlMs: 0,
      cacheScope: "private",
    });
    expect(seen).toEqual([undefined, "eu"]);
    await expect(upstream.call("a", { region: "us" })).rejects.toMatchObject({ data: { rpcCode: -32020 } });
    expect(seen).toEqual([undefined, "eu", "us", "us"]);
  });
});

describe("a server that lists a tool with a bad header", () => {
  async function listNames(protocol: "legacy" | "modern"): Promise<{ tools: string[]; rejected: string[] }> {
    const tools = [
      { name: "good", inputSchema: taking({ a: header("A") }) },
      { name: "bad", inputSchema: taking({ a: header("a b") }) },
    ] as unknown as ListToolsResult["tools"];
    const handle = toNodeHandler(
      createMcpHandler(() => {
        const server = new Server({ name: "params", version: "1.0.0" }, { capabilities: { tools: {} } });
        server.setRequestHandler("tools/list", () => ({ tools }));
        return server;
      }),
    );
    const { url, close } = await listen(
      (request, response) => void handle(request as Parameters<typeof handle>[0], response),
    );
    onTestFinished(close);
    const prior = { protocol, protocolVersion: "", at: new Date().toISOString() };
    const upstream = await connectHttp({ type: "http", url, headers: {} }, { name: "params", prior });
    onTestFinished(() => upstream.close());
    const listing = await upstream.list();
    expect(upstream.prior.protocol).toBe(protocol);
    return {
      tools: listing.tools.map(({ name }) => name),
      rejected: listing.rejected.map(({ name }) => name),
    };
  }

  test("loses that tool in the modern protocol, and no other", async () => {
    expect(await listNames("modern")).toEqual({ tools: ["good"], rejected: ["bad"] });
  });

  test("loses nothing in the legacy protocol, which has no such headers", async () => {
    expect(await listNames("legacy")).toEqual({ tools: ["good", "bad"], rejected: [] });
  });
});
