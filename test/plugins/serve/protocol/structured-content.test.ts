import { expect, test } from "vitest";
import { definePreset, type JsonObject, localTools, type ToolResult } from "../../../../core/mod.ts";
import { connectStdio, type StdioClient } from "../_stdio.ts";

const modern = {
  _meta: {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
  },
};
const values = { list: [1, { a: 2 }], word: "text", zero: 0, no: false, nothing: null, thing: { a: 1 } };
const schemas: Record<string, JsonObject> = {
  list: { type: "array" },
  thing: { type: "object" },
  word: { anyOf: [{ type: "string" }] },
};

/** Tools that each answer with one value as its structure, and as text. */
function serve(): Promise<StdioClient> {
  const tools = Object.entries(values).map(([name, value]) => ({
    name,
    inputSchema: { type: "object" },
    ...(schemas[name] && { outputSchema: schemas[name] }),
    run: (): ToolResult => ({
      content: [{ type: "text", text: JSON.stringify(value) }],
      structuredContent: value,
    }),
  }));
  const plain = localTools("plain", { id: "plain" }, tools);
  return connectStdio({
    preset: definePreset({
      name: "plain",
      plugins: [plain],
      tools: [],
      describe: ({ catalog }) => catalog.tools(),
    }),
    plugins: [],
    options: {},
  });
}

test("wraps structured content that is no object for a legacy client, and keeps its text block", async () => {
  const client = await serve();
  for (const [name, value] of Object.entries(values)) {
    const { result } = await client.request("tools/call", { name });
    expect(result).toEqual({
      content: [{ type: "text", text: JSON.stringify(value) }],
      structuredContent: name === "thing" ? value : { result: value },
    });
  }
});

test("a modern client gets whatever it is", async () => {
  const client = await serve();
  for (const [name, value] of Object.entries(values)) {
    const { result } = await client.request("tools/call", { name, ...modern });
    expect(result).toMatchObject({ structuredContent: value });
  }
});

test("a legacy client is promised only structure that is an object", async () => {
  const client = await serve();
  const promised = async (params: object): Promise<string[]> => {
    const { result } = await client.request("tools/list", params);
    const { tools } = result as { tools: { name: string; outputSchema?: unknown }[] };
    expect(tools).toHaveLength(Object.keys(values).length);
    return tools.filter(({ outputSchema }) => outputSchema !== undefined).map(({ name }) => name);
  };
  expect(await promised({})).toEqual(["thing"]);
  expect(await promised(modern)).toEqual(["list", "word", "thing"]);
});

test.each([
  ["legacy", {}],
  ["modern", modern],
])(
  "a result that cannot be looked at is an error of its request in the %s protocol, and of no other",
  async (_, more) => {
    const run = (): ToolResult => ({
      content: [],
      get structuredContent() {
        throw new Error("There is nothing here.");
      },
    });
    const tools = [{ name: "odd", inputSchema: { type: "object" }, run }];
    const client = await connectStdio({
      preset: definePreset({
        name: "odd",
        plugins: [localTools("odd", { id: "odd" }, tools)],
        tools: [],
        describe: ({ catalog }) => catalog.tools(),
      }),
      plugins: [],
      options: {},
    });
    for (let time = 0; time < 2; time++) {
      const { error, result } = await client.request("tools/call", { name: "odd", ...more });
      expect(error ?? (result as JsonObject)["isError"]).toBeTruthy();
    }
    expect((await client.request("tools/list", more))["result"]).toMatchObject({ tools: [{ name: "odd" }] });
  },
);
