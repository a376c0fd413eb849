import { toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, type ListToolsResult, Server } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { connectHttp } from "../../../plugins/upstreams/http.ts";
import { faultOfParams, withUsableParams } from "../../../plugins/upstreams/http-params.ts";
import { listen } from "../../fixtures/http-servers.ts";

const header = (name: unknown, type: unknown = "string"): JsonObject => ({ type, "x-mcp-header": name });
const taking = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  ...more,
});

describe("faultOfParams", () => {
  test.each<[string, JsonObject]>([
    ["no header at all", taking({ region: { type: "string" } })],
    ["one of each type", taking({ a: header("A"), b: header("B", "integer"), c: header("C", "boolean") })],
    ["one at any depth", taking({ where: taking({ region: header("Region") }) })],
    ["an argument of that name", taking({ "x-mcp-header": { type: "string" } })],
    ["that word in data", taking({ a: { type: "object", default: { "x-mcp-header": "A b" } } })],
  ])("takes a schema with %s", (_, schema) => {
    expect(faultOfParams(schema)).toBeUndefined();
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
    expect(faultOfParams(schema)).toMatch(reason);
  });

  test("never takes a name that is not a token, and never throws", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => {
        const fault = faultOfParams(taking({ a: header(name) }));
        const headers = new Headers();
        if (fault === undefined) headers.set(`mcp-param-${name}`, "x");
        expect([...headers.keys()]).toHaveLength(fault === undefined ? 1 : 0);
      }),
    );
    fc.assert(fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (any) => void faultOfParams(any)));
  });
});

describe("withUsableParams", () => {
  const good = { name: "good", inputSchema: taking({ a: header("A") }) };
  const bad = { name: "bad", inputSchema: taking({ a: header("") }) };
  const rest = { resources: [], resourceTemplates: [], prompts: [] };

  test("keeps a list that has no fault as it is", () => {
    const listing = { ...rest, tools: [good], rejected: [] };
    expect(withUsableParams(listing)).toBe(listing);
  });

  test("says which tool was left out and why, after those that were left out before", () => {
    const before = { name: "", reason: "it has no name" };
    expect(withUsableParams({ ...rest, tools: [bad, good], rejected: [before] })).toEqual({
      ...rest,
      tools: [good],
      rejected: [before, { name: "bad", reason: "its x-mcp-header is not a name of a header" }],
    });
  });
});

describe("a server that lists a tool with a bad header", () => {
  async function namesIn(era: "legacy" | "modern"): Promise<{ tools: string[]; rejected: string[] }> {
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
    const prior = { era, protocolVersion: "", at: new Date().toISOString() };
    const upstream = await connectHttp({ type: "http", url, headers: {} }, { name: "params", prior });
    onTestFinished(() => upstream.close());
    const listing = await upstream.list();
    expect(upstream.prior.era).toBe(era);
    return {
      tools: listing.tools.map(({ name }) => name),
      rejected: listing.rejected.map(({ name }) => name),
    };
  }

  test("loses that tool in the newer era, and no other", async () => {
    expect(await namesIn("modern")).toEqual({ tools: ["good"], rejected: ["bad"] });
  });

  test("loses nothing in the older era, which has no such headers", async () => {
    expect(await namesIn("legacy")).toEqual({ tools: ["good", "bad"], rejected: [] });
  });
});
