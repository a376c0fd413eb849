import { describe, expect, test } from "vitest";
import { definePreset, GatewayError, type LoadedConfig, textResult } from "../../../core/mod.ts";
import { demo } from "../../../plugins/demo.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { connectStdio, type StdioClient } from "../../plugins/serve/_stdio.ts";

const modern = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** A client at the other end of two streams, which sees every message as it was sent. */
function connect(config: Partial<LoadedConfig> = {}): Promise<StdioClient> {
  const options = config.preset ? {} : { cache: { enabled: false }, upstreams: { discover: "none" } };
  return connectStdio({ preset: passthrough, plugins: [demo()], options, ...config });
}

const slow = definePreset({
  name: "slow",
  plugins: [],
  instructions: () => "Wait for it.",
  tools: [
    {
      name: "wait",
      inputSchema: { type: "object" },
      run: (_args, { call }) =>
        new Promise((_resolve, reject) => {
          call.report({ progress: 1, total: 2, message: "half" });
          call.signal.addEventListener("abort", () => reject(call.signal.reason));
        }),
    },
    { name: "now", inputSchema: { type: "object" }, run: () => textResult("done") },
    {
      name: "deny",
      inputSchema: { type: "object" },
      run: () => {
        throw new GatewayError("DENIED", "Not you.", { cause: new Error("secret") });
      },
    },
  ],
});

describe("a legacy client", () => {
  test.each(["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"])(
    "agrees on %s",
    async (protocolVersion) => {
      const client = await connect({ preset: slow });
      const { result } = await client.request("initialize", { protocolVersion, capabilities: {} });
      expect(result).toEqual({
        protocolVersion,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "toolpipe", version: expect.any(String) },
        instructions: "Wait for it.",
      });
    },
  );

  test("that wants an unknown version is offered the newest one of its protocol", async () => {
    const client = await connect();
    const { result } = await client.request("initialize", { protocolVersion: "2099-01-01" });
    expect(result).toMatchObject({ protocolVersion: "2025-11-25" });
  });

  test("lists and calls tools, and hears that it is alive", async () => {
    const client = await connect();
    const { result } = await client.request("tools/list");
    expect((result as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual([
      "add",
      "word_count",
      "countdown",
    ]);
    const call = await client.request("tools/call", { name: "add", arguments: { a: 2, b: 3 } });
    expect(call["result"]).toEqual({ content: [{ type: "text", text: "5" }] });
    expect((await client.request("ping"))["result"]).toEqual({});
  });

  test("sees progress under its own token, before the answer", async () => {
    const client = await connect();
    await client.request("tools/call", {
      name: "countdown",
      arguments: { from: 2 },
      _meta: { progressToken: "mine" },
    });
    expect(client.messages.slice(0, 2)).toEqual([
      expect.objectContaining({ params: { progressToken: "mine", progress: 1, total: 2, message: "1" } }),
      expect.objectContaining({ params: { progressToken: "mine", progress: 2, total: 2, message: "0" } }),
    ]);
  });

  test("that cancels a call gets no answer to it, and the tool is told", async () => {
    const client = await connect({ preset: slow });
    client.write(
      '{"jsonrpc":"2.0","id":"long","method":"tools/call","params":{"name":"wait","_meta":{"progressToken":1}}}\n',
    );
    await client.find((message) => message["method"] === "notifications/progress");
    client.notify("notifications/cancelled", { requestId: "long" });
    expect((await client.request("tools/call", { name: "now" }))["result"]).toEqual(textResult("done"));
    await client.server.close({ drainMs: 5_000 });
    expect(client.messages.some((message) => message["id"] === "long")).toBe(false);
  });

  test("hears of a changed list once it is ready, and of nothing where the list is the same", async () => {
    const client = await connect();
    await client.request("tools/list");
    client.notify("notifications/initialized");
    await client.request("ping");
    const { catalog } = client.server.gateway;
    await catalog.replace({ id: "more" }, [{ name: "extra", inputSchema: {} }]);
    await client.find((message) => message["method"] === "notifications/tools/list_changed");
    await catalog.replace({ id: "more" }, [{ name: "extra", inputSchema: {} }]);
    await client.request("ping");
    expect(
      client.messages.filter((message) => message["method"] === "notifications/tools/list_changed"),
    ).toHaveLength(1);
  });
});

describe("a modern client", () => {
  test("discovers the server, and every result reports what it is and who made it", async () => {
    const client = await connect({ preset: slow });
    const who = { "io.modelcontextprotocol/serverInfo": { name: "toolpipe", version: expect.any(String) } };
    expect((await client.request("server/discover", { _meta: modern }))["result"]).toEqual({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true } },
      instructions: "Wait for it.",
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: who,
    });
    const list = await client.request("tools/list", { _meta: modern });
    expect(list["result"]).toMatchObject({
      resultType: "complete",
      ttlMs: 0,
      cacheScope: "private",
      _meta: who,
    });
    const call = await client.request("tools/call", { name: "now", _meta: modern });
    expect(call["result"]).toEqual({ ...textResult("done"), resultType: "complete", _meta: who });
  });

  test("is told which versions there are if it wants another one", async () => {
    const client = await connect();
    const _meta = { ...modern, "io.modelcontextprotocol/protocolVersion": "2099-01-01" };
    expect((await client.request("tools/list", { _meta }))["error"]).toMatchObject({
      code: -32022,
      data: { supported: ["2026-07-28"], requested: "2099-01-01" },
    });
  });

  test.each(["ping", "initialize", "logging/setLevel"])("has no %s", async (method) => {
    const client = await connect();
    expect((await client.request(method, { _meta: modern }))["error"]).toMatchObject({ code: -32601 });
  });

  test("listens for changes of the list for as long as it likes", async () => {
    const client = await connect();
    await client.request("tools/list", { _meta: modern });
    client.write(
      `${JSON.stringify({ jsonrpc: "2.0", id: "sub", method: "subscriptions/listen", params: { notifications: { toolsListChanged: true }, _meta: modern } })}\n`,
    );
    await client.find((message) => message["method"] === "notifications/subscriptions/acknowledged");
    await client.server.gateway.catalog.replace({ id: "more" }, [{ name: "extra", inputSchema: {} }]);
    const heard = await client.find((message) => message["method"] === "notifications/tools/list_changed");
    expect(heard["params"]).toEqual({ _meta: { "io.modelcontextprotocol/subscriptionId": "sub" } });
  });
});

describe("what fails", () => {
  test("a tool that does not exist, and arguments of the gateway's own tools that are wrong, are errors of the protocol", async () => {
    const client = await connect({ preset: slow });
    expect((await client.request("tools/call", { name: "nope" }))["error"]).toMatchObject({ code: -32601 });
    expect((await client.request("tools/call", { name: "now", arguments: [] }))["error"]).toMatchObject({
      code: -32602,
    });
    expect((await client.request("tools/call", {}))["error"]).toMatchObject({ code: -32602 });
    expect((await client.request("nonsense"))["error"]).toMatchObject({ code: -32601 });
    expect((await client.request("constructor"))["error"]).toMatchObject({ code: -32601 });
  });

  test("a failure of the tool is a result the agent can read, without what caused it", async () => {
    const client = await connect({ preset: slow });
    const { result } = await client.request("tools/call", { name: "deny" });
    expect(result).toEqual({
      isError: true,
      content: [
        {
          type: "text",
          text: '{"success":false,"error":{"code":"TOOL_EXECUTION_ERROR","message":"Not you."}}',
        },
      ],
      _meta: { "toolpipe/rpcCode": -32603 },
    });
    expect(JSON.stringify(client.messages)).not.toContain("secret");
  });

  test.each([
    ["no JSON", "hello\n", -32700],
    ["bytes that are no text", Uint8Array.of(0xff, 0xfe, 0x0a), -32700],
    ["a list", "[]\n", -32600],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}\n', -32600],
    ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"ping"}\n', -32600],
    ["neither a method nor an answer", '{"jsonrpc":"2.0"}\n', -32600],
    ["a method that is no string", '{"jsonrpc":"2.0","method":5}\n', -32600],
    [
      "nesting without end",
      `{"jsonrpc":"2.0","id":9,"method":"tools/call","params":${"[".repeat(5_000)}${"]".repeat(5_000)}}\n`,
      -32600,
    ],
  ])("%s is refused, and the next request is answered", async (_what, text, code) => {
    const client = await connect();
    client.write(text);
    const refused = await client.find((message) => message["error"] !== undefined);
    expect(refused["error"]).toMatchObject({ code });
    expect((await client.request("ping", undefined, "after"))["result"]).toEqual({});
  });

  test("a message without a method is refused with its id, or null where it has none", async () => {
    const client = await connect();
    client.write('{"jsonrpc":"2.0"}\n{"jsonrpc":"2.0","id":"x"}\n');
    for (const id of [null, "x"]) {
      const refused = await client.find((message) => message["id"] === id);
      expect(refused["error"]).toMatchObject({ code: -32600, message: "A message needs a method." });
    }
  });

  test("an id that is still in use is refused", async () => {
    const client = await connect({ preset: slow });
    const call = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"wait"}}\n';
    client.write(call + call);
    const refused = await client.find((message) => message["id"] === 7);
    expect(refused["error"]).toMatchObject({ code: -32600 });
  });
});

describe("the end", () => {
  test("a client that closes its end is noticed", async () => {
    const client = await connect();
    client.input.end();
    await client.server.ended;
  });

  test("closing lets calls finish, and answers them", async () => {
    const client = await connect();
    client.write(
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"countdown","arguments":{"from":5}}}\n',
    );
    await new Promise((resolve) => setTimeout(resolve, 30));
    await client.server.close({ drainMs: 10_000 });
    expect((await client.find((message) => message["id"] === 1))["result"]).toEqual(textResult("Liftoff!"));
  });
});
