import { describe, expect, test } from "vitest";
import {
  definePreset,
  type Gateway,
  GatewayError,
  localTools,
  type MetaTool,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { STATE_UNAVAILABLE } from "../../core/services/state.ts";
import { health } from "../../plugins/health.ts";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { metrics } from "../../plugins/metrics/mod.ts";
import { overload } from "../../plugins/overload.ts";
import { state } from "../../plugins/state/mod.ts";
import { ask, preset, serveGateway } from "../plugins/serve/_http.ts";
import { openGateway } from "../support/open-gateway.ts";
import { by, onlyPeople } from "./_people.ts";

const object = { type: "object" };

async function openMetrics(...plugins: Plugin[]): Promise<Gateway> {
  const tools: MetaTool[] = [
    { name: "ok", inputSchema: object, run: () => textResult("ok") },
    { name: "bad", inputSchema: object, run: () => ({ content: [], isError: true }) },
    { name: "fail", inputSchema: object, run: () => Promise.reject(new GatewayError("TIMEOUT", "canary")) },
    { name: "long", description: "word ".repeat(500), inputSchema: object, run: () => textResult("") },
  ];
  return openGateway({
    preset: definePreset({ name: "meta", plugins: [], tools: [{ ...tools[0], name: "find" } as MetaTool] }),
    plugins: [metrics(), ...plugins, localTools("s", { id: "s" }, tools)],
  });
}

/** Collects the metrics as a request of `/metrics` does. */
async function text(gateway: Gateway): Promise<string> {
  let sent = "";
  const response = {
    writeHead: () => response,
    end: (body: string) => {
      sent = body;
    },
  };
  await gateway
    .drivers("route")
    .get("/metrics")
    ?.handle({} as never, response as never, undefined, async () => ({}));
  return sent;
}

const inFlight = async (gateway: Gateway): Promise<number> =>
  Number(/^toolpipe_calls_in_flight (.*)$/m.exec(await text(gateway))?.[1]);

describe("calls are counted", () => {
  test("by their server, how they ended, in which stage and who answered", async () => {
    const cached: Plugin = {
      name: "cached",
      setup: () => ({
        execute(call, next) {
          if (call.args["cached"] !== true) return next();
          call.via = "cache";
          call.result = textResult("kept");
        },
        policy(call) {
          if (call.args["no"] === true) throw new GatewayError("DENIED", "no");
        },
      }),
    };
    const gateway = await openMetrics(cached);
    for (const [tool, args] of [
      ["s:ok", {}],
      ["s:ok", { cached: true }],
      ["s:ok", { no: true }],
      ["s:bad", {}],
      ["s:fail", {}],
      ["s:nothing of the kind, canary", {}],
      ["canary:ok", {}],
    ] as const) {
      await gateway.run({ tool, args });
    }
    gateway.report(new GatewayError("INTERNAL", "canary"));
    const lines = (await text(gateway)).split("\n");
    expect(lines.filter((line) => line.startsWith("toolpipe_calls_total"))).toEqual([
      'toolpipe_calls_total{server="s",outcome="ok",stage="execute",via=""} 1',
      'toolpipe_calls_total{server="s",outcome="ok",stage="execute",via="cache"} 1',
      'toolpipe_calls_total{server="s",outcome="DENIED",stage="policy",via=""} 1',
      'toolpipe_calls_total{server="s",outcome="tool_error",stage="execute",via=""} 1',
      'toolpipe_calls_total{server="s",outcome="TIMEOUT",stage="execute",via=""} 1',
      'toolpipe_calls_total{server="",outcome="TOOL_NOT_FOUND",stage="resolve",via=""} 2',
    ]);
    expect(lines).toContain('toolpipe_call_duration_seconds_count{server="s"} 5');
    expect(lines).toContain('toolpipe_errors_total{code="INTERNAL"} 1');
    expect(lines).toContain("toolpipe_calls_in_flight 0");
    expect(lines.join()).not.toContain("canary");
  });

  test("while they are pending, an inner call as part of its outer call", async () => {
    let inside: number[] = [];
    const outer: MetaTool = {
      name: "outer",
      inputSchema: object,
      run: async (_args, { call, gateway }) => {
        await gateway.run({ tool: "t:inner", parent: call });
        return textResult("");
      },
    };
    const inner: MetaTool = {
      name: "inner",
      inputSchema: object,
      run: async (_args, { gateway }) => {
        inside = [...inside, await inFlight(gateway)];
        return textResult("");
      },
    };
    const gateway = await openMetrics(localTools("t", { id: "t" }, [outer, inner]));
    await gateway.run({ tool: "t:outer" });
    expect(inside).toEqual([1]);
    expect(await inFlight(gateway)).toBe(0);
  });

  test("with the tokens of all tools, the tokens of the exposed tools, and the load where it is known", async () => {
    const gateway = await openMetrics(overload());
    const sample = async (name: string): Promise<number> =>
      Number(new RegExp(`^${name} (.*)$`, "m").exec(await text(gateway))?.[1]);
    const [all, exposed] = [await sample("toolpipe_tokens_all"), await sample("toolpipe_tokens_shown")];
    expect(all).toBeGreaterThan(500);
    expect(exposed).toBeGreaterThan(5);
    expect(exposed).toBeLessThan(50);
    expect(await sample("toolpipe_tokens_saved")).toBe(all - exposed);
    expect(await sample("toolpipe_load_waiting")).toBe(0);
    expect(await sample("toolpipe_tools")).toBe(4);
    await gateway.catalog.remove("s");
    expect(await sample("toolpipe_tokens_all")).toBe(0);
    expect(await sample("toolpipe_tokens_saved")).toBe(0);
  });
});

describe("over HTTP", () => {
  test("/metrics is read like the rest: with a token where one is needed", async () => {
    const { url } = await serveGateway({ plugins: [metrics(), onlyPeople] });
    const place = new URL("/metrics", url);
    expect((await fetch(place)).status).toBe(401);
    await ask(url, "tools/call", { name: "now" }, by("ann"));
    const response = await fetch(place, by("ann"));
    expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(await response.text()).toContain('toolpipe_calls_total{server="test",outcome="ok"');
    const open = await serveGateway({ plugins: [metrics({ open: true }), onlyPeople] });
    expect((await fetch(new URL("/metrics", open.url))).status).toBe(200);
  });

  test("/healthz and /readyz answer without a token, and not in words", async () => {
    const store = memoryStore();
    let isLost = false;
    const lossy = {
      ...store,
      get: (key: string) =>
        isLost ? Promise.reject(new GatewayError(STATE_UNAVAILABLE, "canary")) : store.get(key),
    };
    const { url } = await serveGateway({
      preset: preset([]),
      plugins: [health(), state({ store: lossy }), onlyPeople],
    });
    const look = async (path: string): Promise<readonly [number, unknown]> => {
      const response = await fetch(new URL(path, url));
      return [response.status, await response.json()];
    };
    expect(await look("/healthz")).toEqual([200, { status: "ok" }]);
    expect(await look("/readyz")).toEqual([200, { status: "ok" }]);
    isLost = true;
    expect(await look("/readyz")).toEqual([503, { status: "unready", because: "state" }]);
    expect(await look("/healthz")).toEqual([200, { status: "ok" }]);
  });
});
