import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  definePreset,
  type JsonObject,
  type LoadedConfig,
  localTools,
  type Plugin,
  textResult,
} from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { results } from "../../../plugins/results/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import {
  ask,
  askModern,
  modernHeaders,
  modernMeta,
  preset,
  readAnswer,
  send,
  serveGateway,
} from "../../plugins/serve/_http.ts";
import { connectStdio } from "../../plugins/serve/_stdio.ts";

const lines = Array.from({ length: 5_000 }, (_, index) => `line ${index}`).join("\n");
const structuredContent = { rows: Array.from({ length: 9_000 }, (_, index) => ({ index })) };

const library: Plugin = localTools("library", { id: "library" }, [
  { name: "book", description: "A long text", inputSchema: {}, run: () => textResult(lines) },
  {
    name: "table",
    inputSchema: {},
    outputSchema: { type: "object" },
    run: () => ({ ...textResult("a table"), structuredContent }),
  },
]);

function config(options: object = {}): LoadedConfig {
  return {
    preset: anygpt,
    plugins: [library],
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      results: { maxBytes: 20_000 },
      ...options,
    },
  };
}

const book = { server: "library", tool: "book", arguments: {} };

/** The operations that both clients have. */
interface Reader {
  call(name: string, args: JsonObject): Promise<JsonObject>;
  capabilities(): object | undefined;
  list(): Promise<readonly { uri: string }[]>;
  read(uri: string): Promise<{ contents: readonly object[]; _meta?: object | undefined }>;
}

async function legacy(url: string): Promise<Reader> {
  const client = new LegacyClient({ name: "legacy", version: "1.0.0" });
  await client.connect(new LegacyTransport(new URL(url)) as Transport);
  onTestFinished(() => client.close());
  return {
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as JsonObject,
    capabilities: () => client.getServerCapabilities(),
    list: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
  };
}

async function modern(url: string, mode: "auto" | { readonly pin: string }): Promise<Reader> {
  const client = new ModernClient({ name: "modern", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new ModernTransport(new URL(url)));
  onTestFinished(() => client.close());
  return {
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as JsonObject,
    capabilities: () => client.getServerCapabilities(),
    list: async () => (await client.listResources()).resources,
    read: (uri) => client.readResource({ uri }),
  };
}

describe.each<[string, (url: string) => Promise<Reader>, number]>([
  ["made with the older SDK", legacy, -32002],
  ["made with the newer SDK that asks which protocol it is", (url) => modern(url, "auto"), -32602],
  [
    "made with the newer SDK that knows only the modern protocol",
    (url) => modern(url, { pin: "2026-07-28" }),
    -32602,
  ],
])("a client %s", (_which, connect, missing) => {
  test("gets a large result in part, and reads the rest as a resource and as a tool", async () => {
    const client = await connect((await serveGateway(config())).url);
    expect(client.capabilities()).toMatchObject({ resources: {} });
    expect(await client.list()).toEqual([]);
    const { content } = (await client.call("execute_tool", book)) as { content: JsonObject[] };
    expect(content.map(({ type }) => type)).toEqual(["text", "text", "resource_link"]);
    const [first, note, link] = content;
    let read = String(first?.["text"]);
    for (let uri: unknown = link?.["uri"]; typeof uri === "string"; ) {
      const { contents, _meta } = await client.read(uri);
      read += (contents[0] as { text: string }).text;
      uri = (_meta as JsonObject | undefined)?.["toolpipe/next"];
    }
    expect(read).toBe(lines);
    expect(await client.list()).toMatchObject([{ uri: String(link?.["uri"]).split("?")[0] }]);

    const args = JSON.parse(/\{.*\}/.exec(String(note?.["text"]))?.[0] ?? "");
    const page = (await client.call("execute_tool", {
      server: "toolpipe",
      tool: "read_result",
      arguments: args,
    })) as { content: JsonObject[] };
    expect(lines.startsWith(String(first?.["text"]) + String(page.content[0]?.["text"]))).toBe(true);
    await expect(
      client.call("get_tool_details", { server: "toolpipe", tool: "read_result" }),
    ).resolves.toEqual(
      expect.objectContaining({ content: [{ type: "text", text: expect.stringContaining('"uri"') }] }),
    );
  });

  test("is told in the terms of its protocol version where there is nothing to be read", async () => {
    const client = await connect((await serveGateway(config())).url);
    for (const uri of ["file:///nothing", "toolpipe://results/AAAAAAAAAAAAAAAAAAAAAA"]) {
      await expect(client.read(uri)).rejects.toMatchObject({ code: missing, data: { uri } });
    }
  });

  test("gets the structured content of a tool that promises it, whatever its size", async () => {
    const { url } = await serveGateway(config({ answers: { pinned: ["library:table"] } }));
    const client = await connect(url);
    expect(await client.call("table", {})).toMatchObject({ structuredContent });
    const { content, ...more } = await client.call("execute_tool", { ...book, tool: "table" });
    expect(more).not.toHaveProperty("structuredContent");
    expect(JSON.stringify(content)).toContain("structuredContent");
  });
});

describe("over standard input and output", () => {
  test("a large result is cut and read in both protocols", async () => {
    const client = await connectStdio(config());
    for (const _meta of [undefined, modernMeta]) {
      const { result } = await client.request("tools/call", { name: "execute_tool", arguments: book, _meta });
      const { content } = result as { content: JsonObject[] };
      const uri = content.at(-1)?.["uri"];
      const read = (await client.request("resources/read", { uri, _meta }))["result"] as JsonObject;
      expect(lines).toContain((read["contents"] as JsonObject[])[0]?.["text"]);
      if (_meta) expect(read).toMatchObject({ resultType: "complete", ttlMs: 0, cacheScope: "private" });
      else expect(read).not.toHaveProperty("ttlMs");
      const list = await client.request("resources/templates/list", { _meta });
      expect(list["result"]).toMatchObject({ resourceTemplates: [] });
    }
    expect((await client.request("resources/read", {}))["error"]).toMatchObject({ code: -32602 });
  });

  test("what was cut can be read after the config was read again", async () => {
    const client = await connectStdio(config());
    const { result } = await client.request("tools/call", { name: "execute_tool", arguments: book });
    const uri = (result as { content: JsonObject[] }).content.at(-1)?.["uri"];
    await client.server.reload(config());
    expect((await client.request("resources/read", { uri }))["result"]).toBeDefined();
  });
});

describe("a gateway with nothing to read", () => {
  test.each(["resources/list", "resources/read", "resources/templates/list"])(
    "has no %s, and declares none",
    async (method) => {
      const { url } = await serveGateway();
      expect((await readAnswer(ask(url, method)))["error"]).toMatchObject({ code: -32601 });
      const { result } = await readAnswer(ask(url, "initialize"));
      expect(result).toMatchObject({ capabilities: { tools: { listChanged: true } } });
      expect((result as { capabilities: object }).capabilities).not.toHaveProperty("resources");
    },
  );
});

describe("over HTTP in the modern protocol", () => {
  test("the header must name the URI that is read", async () => {
    const { url } = await serveGateway({ preset: preset([]), plugins: [results()] });
    const uri = "toolpipe://results/AAAAAAAAAAAAAAAAAAAAAA";
    for (const [name, code] of [
      [undefined, -32020],
      ["other:uri", -32020],
      [uri, -32602],
    ] as const) {
      const headers = modernHeaders("resources/read", name);
      const response = send(
        url,
        { jsonrpc: "2.0", id: 1, method: "resources/read", params: { uri, _meta: modernMeta } },
        { headers },
      );
      expect((await readAnswer(response))["error"]).toMatchObject({ code });
    }
  });
});

test("resources of several plugins are listed together, and each answers for its own", async () => {
  const provideResources = (scheme: string): Plugin => ({
    name: scheme,
    setup: (gateway) =>
      gateway.register("resources", scheme, {
        list: () => [{ uri: `${scheme}:a`, name: "a", size: 1 }],
        read: (uri, { actor }) =>
          uri.startsWith(`${scheme}:`)
            ? { contents: [{ uri, text: `${scheme} for ${actor.id}` }] }
            : undefined,
      }),
  });
  const { url } = await serveGateway({
    preset: definePreset({ name: "several", plugins: [provideResources("one"), provideResources("two")] }),
  });
  expect((await readAnswer(askModern(url, "resources/list")))["result"]).toMatchObject({
    resources: [
      { uri: "one:a", name: "a", size: 1 },
      { uri: "two:a", name: "a", size: 1 },
    ],
  });
  expect((await readAnswer(ask(url, "resources/read", { uri: "two:a" })))["result"]).toEqual({
    contents: [{ uri: "two:a", text: "two for local" }],
  });
});
