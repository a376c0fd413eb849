import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { context, SpanKind, trace } from "@opentelemetry/api";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  type Gateway,
  GatewayError,
  type JsonObject,
  localTools,
  type MetaTool,
  type Plugin,
  type PluginGateway,
  textResult,
} from "../../core/mod.ts";
import { approvals } from "../../plugins/approvals/mod.ts";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { parseTraceContext } from "../../plugins/lib/telemetry.ts";
import { mcp } from "../../plugins/mcp/mod.ts";
import { openapi } from "../../plugins/openapi/mod.ts";
import { sources } from "../../plugins/sources/mod.ts";
import { state } from "../../plugins/state/mod.ts";
import { type TelemetryOptions, telemetry } from "../../plugins/telemetry/mod.ts";
import { upstreams } from "../../plugins/upstreams/mod.ts";
import { ask, askModern, preset, serveGateway } from "../plugins/serve/_http.ts";
import { openGateway } from "../support/open-gateway.ts";
import { script } from "../support/stdio-servers.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { registerSdk } from "./_otel.ts";

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;
const incoming = { traceparent, tracestate: "vendor=value", baggage: "tenant=blue" };
const object = { type: "object" };

async function openTelemetry(options: TelemetryOptions, ...plugins: Plugin[]): Promise<Gateway> {
  return openGateway({ plugins: [telemetry(options), ...plugins] });
}

/** Returns a plugin that records the headers and the context of calls. */
function probe(): { readonly plugin: Plugin; readonly seen: unknown[] } {
  const seen: unknown[] = [];
  const look: MetaTool = {
    name: "look",
    inputSchema: object,
    run: (_args, { call, gateway }) => {
      seen.push(gateway.services.telemetry?.getContext(call));
      return textResult("");
    },
  };
  return { plugin: localTools("s", { id: "s" }, [look]), seen };
}

describe("a call is told to OpenTelemetry", () => {
  test("as a span in the trace that its request names, with inner calls below it", async () => {
    const { spans, measurements } = registerSdk();
    const { plugin, seen } = probe();
    const active: unknown[] = [];
    const outer: MetaTool = {
      name: "outer",
      inputSchema: object,
      run: async (_args, { call, gateway }) => {
        active.push(trace.getSpanContext(context.active())?.traceId);
        await gateway.run({ tool: "s:look", parent: call });
        await gateway.run({ tool: "s:missing", parent: call });
        return textResult("canary");
      },
    };
    const gateway = await openTelemetry({}, plugin, localTools("t", { id: "t" }, [outer]));
    await gateway.run({ tool: "t:outer", args: { secret: "canary" }, meta: incoming });
    expect(spans.map(({ name }) => name)).toEqual(["tools/call s:look", "tools/call", "tools/call t:outer"]);
    const [inner, missing, whole] = spans;
    expect(spans.every((span) => span.traceId === traceId)).toBe(true);
    expect(whole).toMatchObject({ parentId: "00f067aa0ba902b7", kind: SpanKind.SERVER, status: undefined });
    expect(inner).toMatchObject({ parentId: whole?.spanId, kind: SpanKind.INTERNAL });
    expect(missing?.attributes).toMatchObject({
      "error.type": "TOOL_NOT_FOUND",
      "toolpipe.stage": "resolve",
    });
    expect(inner?.attributes).toMatchObject({ "gen_ai.tool.name": "look", "toolpipe.server": "s" });
    expect(active).toEqual([traceId]);
    expect(seen).toEqual([{ traceparent: `00-${traceId}-${inner?.spanId}-01` }]);
    const durations = measurements.filter(({ name }) => name === "mcp.server.operation.duration");
    expect(durations.map(({ attributes }) => attributes?.["error.type"])).toEqual([
      undefined,
      "TOOL_NOT_FOUND",
      undefined,
    ]);
    const open = measurements.filter(({ name }) => name === "toolpipe.calls.active");
    expect(open.reduce((sum, { value }) => sum + value, 0)).toBe(0);
    expect(JSON.stringify([spans, measurements])).not.toContain("canary");
  });

  test("and where no SDK listens, or the API is not installed, what came goes on", async () => {
    for (const options of [{}, { api: async () => undefined }]) {
      const { plugin, seen } = probe();
      const gateway = await openTelemetry(options, plugin);
      await gateway.run({ tool: "s:look", meta: incoming });
      await gateway.run({ tool: "s:look", meta: { traceparent: "canary", baggage: 7 } });
      expect(seen).toEqual([incoming, {}]);
    }
  });

  test("without the API no hook is there that could cost a call anything", async () => {
    const hooks = await telemetry({ api: async () => undefined }).setup({
      provide() {},
    } as unknown as PluginGateway);
    expect(hooks).toBeUndefined();
  });

  test("baggage stays here where that is wanted", async () => {
    const { plugin, seen } = probe();
    const gateway = await openTelemetry({ baggage: false }, plugin);
    await gateway.run({ tool: "s:look", meta: incoming });
    expect(seen).toEqual([{ traceparent, tracestate: "vendor=value" }]);
  });

  test("an API that is broken is named at the start", async () => {
    const broken = { api: () => Promise.reject(new GatewayError("PLUGIN_FAILED", "It cannot be loaded.")) };
    await expect(openTelemetry(broken)).rejects.toMatchObject({ code: "PLUGIN_FAILED" });
  });
});

describe("trace context", () => {
  test("comes in the headers of HTTP, unless the request has its own", async () => {
    for (const asking of [ask, askModern]) {
      const metas: JsonObject[] = [];
      const tool: MetaTool = {
        name: "look",
        inputSchema: object,
        run: (_args, { call }) => {
          metas.push(call.meta);
          return textResult("");
        },
      };
      const { url } = await serveGateway({ preset: preset([tool]) });
      const own = `00-${"1".repeat(32)}-${"2".repeat(16)}-00`;
      await asking(url, "tools/call", { name: "look" }, { headers: incoming });
      await asking(url, "tools/call", { name: "look", _meta: { traceparent: own } }, { headers: incoming });
      await asking(url, "tools/call", { name: "look" }, { headers: { traceparent: "canary" } });
      expect(metas[0]).toMatchObject(incoming);
      expect(metas[1]).toMatchObject({ traceparent: own });
      expect(metas[1]).not.toHaveProperty("baggage");
      expect(JSON.stringify(metas)).not.toContain("canary");
    }
  });

  test("goes on to MCP servers in _meta, as the span of the call", async () => {
    const { spans } = registerSdk();
    const file = join(await temporaryFolder({ "server.mjs": server }), "server.mjs");
    const { command, args } = script(file);
    const gateway = await openTelemetry(
      {},
      state({ store: memoryStore() }),
      approvals(),
      sources({ mcpServers: { one: { command, args } } }),
      mcp(),
      upstreams(),
    );
    await gateway.services.servers?.settled();
    const settled = await gateway.run({ tool: "one:meta", meta: { ...incoming, other: 1 } });
    const sent = JSON.parse(String(settled.result?.content[0]?.["text"])) as JsonObject;
    expect(sent).toMatchObject({ other: 1, traceparent: `00-${traceId}-${spans.at(-1)?.spanId}-01` });
    // It belongs to the span before, which is not the one that is passed on.
    expect(sent).not.toHaveProperty("tracestate");
  });

  test("is forwarded to REST APIs in headers, which never replace those of the API", async () => {
    const seen: JsonObject[] = [];
    const api = createServer((request, response) => {
      seen.push(request.headers);
      response.writeHead(200, { "content-type": "application/json" }).end("{}");
    }).listen(0, "127.0.0.1");
    onTestFinished(() => void api.close());
    await new Promise((resolve) => api.once("listening", resolve));
    const document = JSON.stringify({
      openapi: "3.0.0",
      info: { title: "T", version: "1" },
      paths: { "/x": { get: { operationId: "x", responses: { 200: { description: "" } } } } },
    });
    const gateway = await openTelemetry(
      {},
      openapi({
        adapters: {
          t: {
            document: join(await temporaryFolder({ "t.json": document }), "t.json"),
            server: `http://127.0.0.1:${(api.address() as AddressInfo).port}`,
            allowPrivate: true,
            headers: { baggage: "own" },
          },
        },
      }),
    );
    const settled = await gateway.run({ tool: "t:x", meta: incoming });
    expect(settled.error).toBeUndefined();
    expect(seen[0]).toMatchObject({ traceparent, tracestate: "vendor=value", baggage: "own" });
  });

  test("is valid, whatever a caller sends", () => {
    const field = fc.oneof(
      fc.string(),
      fc.constant(traceparent),
      fc.integer(),
      fc.string({ unit: "binary" }),
    );
    fc.assert(
      fc.property(fc.record({ traceparent: field, tracestate: field, baggage: field }), (given) => {
        const { traceparent: parent, tracestate: more = "-", baggage = "-" } = parseTraceContext(given);
        const isFit = (value: string): boolean => /^[\x20-\x7e]+$/.test(value);
        return (
          isFit(more) &&
          isFit(baggage) &&
          (parent === undefined ? more === "-" : /^[0-9a-f]{2}-[0-9a-f]{32}-/.test(parent))
        );
      }),
    );
    for (const wrong of [`00-${"0".repeat(32)}-00f067aa0ba902b7-01`, `ff-${traceId}-00f067aa0ba902b7-01`])
      expect(parseTraceContext({ traceparent: wrong })).toEqual({});
  });
});

/** Answers every call with the `_meta` that came with it. */
const server = `
import { createInterface } from "node:readline";
const send = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: "2.0", id, result }) + "\\n");
createInterface(process.stdin).on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize")
    send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "m", version: "1" } });
  else if (method === "tools/list") send(id, { tools: [{ name: "meta", inputSchema: { type: "object" } }] });
  else if (method === "tools/call") send(id, { content: [{ type: "text", text: JSON.stringify(params._meta ?? null) }] });
  else if (id !== undefined) send(id, {});
});
`;
