import { join } from "node:path";
import { Client as ModernClient, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { gateway as preset } from "../../../presets/gateway/mod.ts";
import { serveGateway } from "../../plugins/serve/_http.ts";
import { toolpipeCommand } from "../../support/start-serve.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { openPay, payDocument, paySetting, type Received, startPay } from "../_gateway-api.ts";

const FIVE = ["gateway.intent", "gateway.execute", "gateway.adapters", "gateway.tools", "gateway.reference"];

afterEach(() => void vi.unstubAllEnvs());

/** A client that is connected to the preset, and what it can do. */
interface Connected {
  readonly received: readonly Received[];
  tools(): Promise<{ name: string; inputSchema: JsonObject }[]>;
  call(name: string, args: object): Promise<JsonObject>;
}

type Options = Record<string, object>;

/** A real client over HTTP. */
async function overHttp(options: Options = {}): Promise<Connected> {
  const { config, received } = await paySetting(options);
  const { url } = await serveGateway(config);
  const client = new ModernClient({ name: "modern", version: "1.0.0" });
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  onTestFinished(() => client.close());
  return { received, ...abilities(client) };
}

async function openLegacyHttp(options: Options = {}): Promise<Connected> {
  const { config, received } = await paySetting(options);
  const { url } = await serveGateway(config);
  const client = new LegacyClient({ name: "legacy", version: "1.0.0" });
  // The SDK's own transport does not fit its own interface under `exactOptionalPropertyTypes`.
  await client.connect(new LegacyTransport(new URL(url)) as Transport);
  onTestFinished(() => client.close());
  return { received, ...abilities(client) };
}

/** The command as a process, started by a real client, with nothing but a config file. */
async function overStdio(options: Options = {}): Promise<Connected> {
  const { url, received } = await startPay();
  const config = {
    preset: "gateway",
    adapters: { pay: { document: "./pay.json", allowPrivate: true, auth: { env: "PAY_KEY" } } },
    sources: [],
    options,
  };
  const folder = await temporaryFolder({
    "pay.json": JSON.stringify(payDocument(url)),
    "toolpipe.config.json": JSON.stringify(config),
  });
  const [command, ...args] = toolpipeCommand;
  const client = new ModernClient({ name: "modern", version: "1.0.0" });
  await client.connect(
    new StdioClientTransport({
      command,
      args: [...args, "serve", "--config", join(folder, "toolpipe.config.json")],
      env: {
        PATH: String(process.env["PATH"]),
        HOME: folder,
        TOOLPIPE_HOME: join(folder, "own"),
        PAY_KEY: "sk_canary",
      },
    }),
  );
  onTestFinished(() => client.close());
  return { received, ...abilities(client) };
}

function abilities(client: ModernClient | LegacyClient): Omit<Connected, "received"> {
  return {
    tools: async () => (await client.listTools()).tools,
    async call(name, args) {
      const { content } = (await client.callTool({ name, arguments: { ...args } })) as {
        content: { text: string }[];
      };
      return JSON.parse(String(content[0]?.text));
    },
  };
}

const ways = [
  ["stdio", overStdio],
  ["HTTP", overHttp],
  ["HTTP, with the legacy protocol", openLegacyHttp],
] as const;

describe.each(ways)("acceptance over %s", (_way, connect) => {
  test("tools/list returns exactly 5 tools in lazy mode, which is the default", async () => {
    const tools = await (await connect()).tools();
    expect(tools.map(({ name }) => name)).toEqual(FIVE);
    expect(tools.map(({ inputSchema }) => inputSchema["required"] ?? [])).toEqual([
      ["query"],
      ["tool_id", "params"],
      [],
      ["adapter"],
      ["topic"],
    ]);
  });

  test("two calls lead from a task to its result: intent, then execute", async () => {
    const { call, received } = await connect();
    const found = (await call("gateway.intent", { query: "list the banks" })) as {
      ready_to_execute: { tool_id: string };
    };
    const { tool_id } = found.ready_to_execute;
    const params = { country: "nigeria" };
    expect(await call("gateway.execute", { tool_id, params })).toMatchObject({
      success: true,
      tool_id: "pay:list-banks",
      data: { status: true, message: "Done" },
    });
    expect(received).toMatchObject([
      { method: "GET", url: "/bank?country=nigeria", headers: { authorization: "Bearer sk_canary" } },
    ]);
  });

  test("an execution that fails names the fix", async () => {
    const { call } = await connect();
    expect(await call("gateway.execute", { tool_id: "pay:list-bank", params: {} })).toMatchObject({
      success: false,
      error: {
        code: "TOOL_NOT_FOUND",
        message: expect.stringContaining("pay:list-banks"),
        suggestion: "Use gateway.intent to find the right tool_id",
      },
    });
  });

  test("low confidence returns options and asks, and does not guess", async () => {
    const { call } = await connect();
    const answer = await call("gateway.intent", { query: "book a flight to the moon and list what to pack" });
    expect(answer).toMatchObject({
      needs_selection: true,
      missing_inputs: [{ field: "tool_id", question: expect.stringContaining("Which") }],
      alternatives: expect.arrayContaining([expect.objectContaining({ tool_id: "pay:list-banks" })]),
    });
    expect(answer).not.toHaveProperty("recommended");
  });

  test("all three spellings of a name are understood", async () => {
    const { call } = await connect({ discovery: { toolNames: "underscore" } });
    for (const name of ["gateway.adapters", "gateway-adapters", "gateway_adapters"]) {
      expect(await call(name, {})).toMatchObject({ adapters: expect.any(Array) });
    }
  });
});

describe("acceptance of high-risk operations", () => {
  const charge = {
    tool_id: "pay:charge-authorization",
    params: { amount: 500000, email: "customer@example.com", authorization_code: "AUTH_xxxxx" },
  };

  test("they need a key", async () => {
    const { call, received } = await overHttp();
    expect(await call("gateway.execute", charge)).toMatchObject({
      success: false,
      error: { code: "IDEMPOTENCY_REQUIRED", risk_level: "high" },
    });
    expect(received).toEqual([]);
    const options = { idempotency_key: "order-1234" };
    expect(await call("gateway.execute", { ...charge, options })).toMatchObject({ success: true });
    expect(received).toHaveLength(1);
  });

  test("they need the scope", async () => {
    const { gateway, received } = await openPay();
    const args = { ...charge, options: { idempotency_key: "order-1234" } };
    const asked = async (scopes: string[]) => {
      const call = await gateway.run({
        tool: "gateway:gateway.execute",
        args,
        actor: { id: "someone", scopes },
      });
      return JSON.parse(String(call.result?.content[0]?.["text"]));
    };
    expect(await asked([])).toMatchObject({ success: false, error: { code: "SCOPE_REQUIRED" } });
    expect(received).toEqual([]);
    expect(await asked(["payments:write"])).toMatchObject({ success: true });
  });
});

describe("acceptance of full mode", () => {
  test("MCP_TOOL_MODE=full shows every operation, and each can be called", async () => {
    vi.stubEnv("MCP_TOOL_MODE", "full");
    const { tools, call } = await overHttp();
    const names = (await tools()).map(({ name }) => name);
    expect(names).toContain("list-banks");
    expect(names).not.toContain("gateway.intent");
    for (const name of names) expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
    expect(await call("list-banks", {})).toMatchObject({ status: true });
  });
});

test("the five tools are those of the specification", async () => {
  const tools = await (await overHttp()).tools();
  const [intent, execute, adapters, list, reference] = tools.map(
    ({ inputSchema }) => inputSchema["properties"] as JsonObject,
  );
  expect(intent).toMatchObject({
    query: { type: "string" },
    adapter: { type: "string" },
    context: {
      properties: { use_case: { enum: ["one-time", "subscription", "marketplace"] } },
    },
    limit: { type: "integer", default: 3 },
  });
  expect(execute).toMatchObject({
    tool_id: { type: "string", pattern: "^[a-z0-9-]+:[a-z0-9-]+$" },
    params: { type: "object" },
    options: {
      properties: {
        timeout: { type: "integer", default: 30000 },
        idempotency_key: { type: "string", description: "REQUIRED for high-risk operations" },
        dry_run: { type: "boolean", default: false },
        confirmed: { type: "boolean", default: false, description: "REQUIRED for destructive operations" },
      },
    },
  });
  const categories = [
    "payments",
    "infrastructure",
    "analytics",
    "storage",
    "communication",
    "general",
    "all",
  ];
  expect(adapters).toEqual({
    category: { type: "string", enum: categories },
    capability: { type: "string" },
    country: { type: "string" },
    id: { type: "string", description: expect.any(String) },
  });
  expect(list).toMatchObject({
    limit: { type: "integer", default: 20, maximum: 50 },
    offset: { type: "integer", default: 0 },
  });
  expect(reference).toMatchObject({
    section: {
      enum: ["overview", "authentication", "examples", "errors", "webhooks", "best_practices", "all"],
    },
  });
});

test("every answer but that of an operation names the next step", async () => {
  const { ask } = await openPay();
  for (const [tool, args] of [
    ["intent", { query: "pay:list-banks" }],
    ["intent", { query: "xyzzy" }],
    ["adapters", {}],
    ["tools", { adapter: "demo" }],
    ["reference", { topic: "pay" }],
  ] as const) {
    expect((await ask(tool, args))["next_step"]).toMatch(/^[A-Z].+/);
  }
});

test("an agent is told what there is and how to begin", async () => {
  const { gateway } = await openPay();
  expect(preset.instructions?.(gateway)).toMatch(
    /^11 operations of 3 adapters can be used here: pay \(5\), demo \(3\), odd \(3\)\. .*gateway\.intent.*gateway\.execute/,
  );
});

test("an odd tool is described as well as it can be, and spoils nothing", async () => {
  const { ask } = await openPay();
  expect(await ask("intent", { query: "odd:faulty" })).toMatchObject({
    ready_to_execute: { required_params: [], optional_params: ["a", "b", "c", "d"] },
  });
  expect(await ask("tools", { adapter: "odd" })).toMatchObject({ total_tools: 3 });
  const options = { idempotency_key: "order-1234" };
  expect(await ask("execute", { tool_id: "odd:broken", params: {}, options })).toMatchObject({
    success: false,
    error: { code: "TOOL_ERROR", message: "no", risk_level: "high" },
    data: "no",
  });
});
