import { describe, expect, test } from "vitest";
import { streamEvents } from "../../../presets/anygpt/engine.ts";
import { anygpt, createEngine, type Engine, type ExecutionEvent } from "../../../presets/anygpt/mod.ts";
import { openPreset } from "../_open.ts";

async function openEngine(): Promise<Engine> {
  return createEngine((await openPreset(anygpt)).gateway);
}

describe("the engine over a gateway", () => {
  test("lists the servers", async () => {
    expect(await (await openEngine()).listServers()).toEqual([
      {
        name: "demo",
        description: "Three small tools to try the gateway with",
        toolCount: 3,
        enabledCount: 3,
        status: "connected",
      },
      { name: "odd", description: "Odd tools", toolCount: 3, enabledCount: 3, status: "connected" },
    ]);
  });

  test("searches, with a server and a limit where they are given", async () => {
    const engine = await openEngine();
    expect((await engine.searchTools("count words"))[0]).toEqual({
      server: "demo",
      tool: "word_count",
      summary: "Counts the words of a text.",
      relevance: expect.any(Number),
      tags: [],
    });
    expect(await engine.searchTools("count", { limit: 1 })).toHaveLength(1);
    expect(await engine.searchTools("count", { server: "odd" })).toEqual([]);
  });

  test("lists the tools of a server, and none of one that is not there", async () => {
    const engine = await openEngine();
    expect(await engine.listTools("odd")).toEqual([
      { server: "odd", name: "broken", summary: "Fails.", enabled: true, tags: [] },
      { server: "odd", name: "bare", summary: "", enabled: true, tags: [] },
      {
        server: "odd",
        name: "faulty",
        summary: "Has a schema that makes no sense!",
        enabled: true,
        tags: [],
      },
    ]);
    expect(await engine.listTools("nowhere")).toEqual([]);
    expect(await engine.listTools("anygpt")).toEqual([]);
  });

  test("gives the details of a tool, and null of one that is not there", async () => {
    const engine = await openEngine();
    expect(await engine.getToolDetails("demo", "countdown", { examples: true })).toEqual({
      server: "demo",
      name: "countdown",
      summary: "Counts down to zero, one step every 20 ms, and reports its progress.",
      description: "Counts down to zero, one step every 20 ms, and reports its progress.",
      parameters: [{ name: "from", type: "integer", description: "", required: true }],
      examples: [{ description: expect.any(String), parameters: { from: 1 } }],
      enabled: true,
      tags: [],
    });
    expect(await engine.getToolDetails("demo", "nothing")).toBeNull();
    expect(await engine.getToolDetails("nowhere", "add")).toBeNull();
    expect(await engine.getToolDetails("anygpt", "list_tools")).toBeNull();
  });

  test("executes, and wraps what comes of it", async () => {
    const engine = await openEngine();
    expect(await engine.executeTool("demo", "add", { a: 2, b: 3 })).toEqual({
      success: true,
      result: "5",
    });
    expect(await engine.executeTool("odd", "broken", {})).toEqual({
      success: false,
      error: { code: "TOOL_EXECUTION_ERROR", message: "no", server: "odd", tool: "broken" },
    });
  });

  test.each([
    ["demo", "subtract", {}, "TOOL_NOT_FOUND"],
    ["nowhere", "add", {}, "TOOL_NOT_FOUND"],
    ["demo", "add", { a: 1 }, "TOOL_VALIDATION_ERROR"],
    ["demo", "add", "a and b", "TOOL_VALIDATION_ERROR"],
  ])("%s:%s with %j fails with the code of the specification: %s", async (server, tool, args, code) => {
    const { success, error } = await (await openEngine()).executeTool(server, tool, args);
    expect(success).toBe(false);
    expect(error).toEqual({ code, message: expect.any(String), server, tool });
  });

  test("hands on progress, and is cancelled by a signal", async () => {
    const engine = await openEngine();
    const controller = new AbortController();
    const seen: number[] = [];
    const result = await engine.executeTool(
      "demo",
      "countdown",
      { from: 50 },
      {
        signal: controller.signal,
        onProgress({ progress }) {
          seen.push(progress);
          if (progress === 2) controller.abort();
        },
      },
    );
    expect(seen).toEqual([1, 2]);
    expect(result).toMatchObject({ success: false, error: { code: "TOOL_EXECUTION_ERROR" } });
  });
});

describe("an execution as a stream", () => {
  test("yields progress as it comes, and at last the result", async () => {
    const events: ExecutionEvent[] = [];
    for await (const event of (await openEngine()).executeStream("demo", "countdown", { from: 3 }))
      events.push(event);
    expect(events).toEqual([
      { type: "progress", progress: 1, total: 3, message: "2" },
      { type: "progress", progress: 2, total: 3, message: "1" },
      { type: "progress", progress: 3, total: 3, message: "0" },
      { type: "result", success: true, result: "Liftoff!" },
    ]);
  });

  test("yields a failure as its result", async () => {
    const events: ExecutionEvent[] = [];
    for await (const event of (await openEngine()).executeStream("demo", "nothing", {})) events.push(event);
    expect(events).toMatchObject([{ type: "result", success: false, error: { code: "TOOL_NOT_FOUND" } }]);
  });

  test("cancels the call when its stream is no longer read", async () => {
    const { gateway, records } = await openPreset(anygpt);
    for await (const event of createEngine(gateway).executeStream("demo", "countdown", { from: 100 })) {
      if (event.type === "progress" && event.progress === 2) break;
    }
    expect(records).toMatchObject([{ tool_id: "demo:countdown", outcome: "CANCELLED" }]);
  });

  test("is cancelled by a signal", async () => {
    const engine = await openEngine();
    const signal = AbortSignal.timeout(50);
    const events: ExecutionEvent[] = [];
    for await (const event of engine.executeStream("demo", "countdown", { from: 100 }, { signal }))
      events.push(event);
    expect(events.at(-1)).toMatchObject({ type: "result", success: false });
  });

  test("keeps the newest progress for a reader that is slow", async () => {
    const stream = streamEvents(async ({ onProgress }) => {
      for (let progress = 1; progress <= 500; progress++) onProgress({ progress });
      return { success: true };
    });
    const events: ExecutionEvent[] = [];
    for await (const event of stream) events.push(event);
    expect(events).toHaveLength(101);
    expect(events.slice(-2)).toEqual([
      { type: "progress", progress: 500 },
      { type: "result", success: true },
    ]);
  });
});
