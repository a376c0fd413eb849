import { describe, expect, test } from "vitest";
import {
  type Call,
  type JsonObject,
  type LoadedConfig,
  localTools,
  type Plugin,
  type ToolResult,
  textResult,
} from "../../../core/mod.ts";
import { type MemorySink, memorySink } from "../../../plugins/audit/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { until } from "../../plugins/serve/_http.ts";
import { connectStdio } from "../../plugins/serve/_stdio.ts";

/** A tool that answers when it is told to. */
function slow(outputSchema?: JsonObject): {
  plugin: Plugin;
  call: () => Call;
  answer: (result: ToolResult) => void;
} {
  let seen: Call | undefined;
  let answer: (result: ToolResult) => void = () => {};
  const plugin = localTools("slow", { id: "slow" }, [
    {
      name: "wait",
      inputSchema: { type: "object" },
      outputSchema,
      run(_args, { call }) {
        seen = call;
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
    },
  ]);
  return { plugin, call: () => seen as Call, answer: (result) => answer(result) };
}

function config(
  plugin: Plugin,
  options: object = {},
): { config: LoadedConfig; over: () => MemorySink["records"] } {
  const sink = memorySink();
  const all = { audit: { sink }, cache: { enabled: false }, results: { waitMs: 40 }, ...options };
  // Audit records of finished calls.
  const over = () => sink.records.filter(({ event }) => event === "outcome");
  return { config: { preset: anygpt, plugins: [plugin], options: all }, over };
}

const execute = { name: "execute_tool", arguments: { server: "slow", tool: "wait", arguments: {} } };

function readContent({ result }: JsonObject): JsonObject[] {
  return (result as { content: JsonObject[] }).content;
}

describe("a call that outlasts the wait", () => {
  test("is answered with where its result will be, tells its progress there, and is recorded as one call when it ends", async () => {
    const { plugin, call, answer } = slow();
    const { config: served, over } = config(plugin, { results: { waitMs: 600 } });
    const client = await connectStdio(served);
    const asked = client.request("tools/call", { ...execute, _meta: { progressToken: "mine" } });
    await until(() => call() !== undefined);
    call().report({ progress: 1, total: 3 });
    const [text, link] = readContent(await asked);
    expect(text?.["text"]).toMatch(/^"slow:wait" is still running.*1 of 3/);
    expect(link).toMatchObject({ type: "resource_link" });
    const uri = String(link?.["uri"]);
    const heard = client.messages.length;

    call().report({ progress: 2, total: 3, message: "nearly" });
    const running = await client.request("resources/read", { uri });
    expect(JSON.stringify(running)).toContain("2 of 3 (nearly)");
    expect(over()).toEqual([]);

    answer(textResult("at last"));
    await until(() => over().length === 2);
    const read = await client.request("resources/read", { uri });
    expect(read["result"]).toEqual({ contents: [{ uri, mimeType: "text/plain", text: "at last" }] });
    const args = { server: "toolpipe", tool: "read_result", arguments: { uri } };
    const again = await client.request("tools/call", { name: "execute_tool", arguments: args });
    expect(again["result"]).toEqual(textResult("at last"));

    expect(over().slice(0, 2)).toMatchObject([
      { tool_id: "slow:wait", outcome: "ok" },
      { tool_id: "anygpt:execute_tool", outcome: "ok" },
    ]);
    // A timer may fire a little early: what counts is that the wait is part of the time.
    expect(over()[0]?.duration_ms).toBeGreaterThan(30);
    // Nothing more is said of a request that is answered.
    expect(client.messages.slice(heard).filter(({ method }) => method !== undefined)).toEqual([]);
  });

  test("tells its failure where its result would be", async () => {
    const { plugin } = slow();
    const { config: served } = config(plugin, { timeout: { ms: 120 } });
    const client = await connectStdio(served);
    const uri = readContent(await client.request("tools/call", execute))[1]?.["uri"];
    const args = { server: "toolpipe", tool: "read_result", arguments: { uri } };
    for (;;) {
      const { result } = await client.request("tools/call", { name: "execute_tool", arguments: args });
      if (!(result as ToolResult).isError) continue;
      expect(JSON.stringify(result)).toContain("TOOL_EXECUTION_TIMEOUT");
      break;
    }
  });

  test("is cancelled when the gateway closes, and recorded so", async () => {
    const { plugin, call } = slow();
    const { config: served, over } = config(plugin);
    const client = await connectStdio(served);
    await client.request("tools/call", execute);
    await client.server.close({ drainMs: 10 });
    expect(call().signal.aborted).toBe(true);
    expect(over()).toMatchObject([{ outcome: "CLOSED" }, { outcome: "CLOSED" }]);
  });

  test("is let finish when the gateway closes, as any other", async () => {
    const { plugin, answer } = slow();
    const { config: served, over } = config(plugin);
    const client = await connectStdio(served);
    await client.request("tools/call", execute);
    const closed = client.server.close({ drainMs: 10_000 });
    answer(textResult("done"));
    await closed;
    expect(over()).toMatchObject([{ outcome: "ok" }, { outcome: "ok" }]);
  });

  test.each([
    ["the wait is switched off", { results: { waitMs: 0 } }, undefined],
    ["too many calls are detached", { results: { waitMs: 20, maxRunning: 0 } }, undefined],
    ["its client insists on its own answer", { answers: { pinned: ["slow:wait"] } }, { type: "object" }],
  ])("is waited for where %s", async (_when, options, outputSchema) => {
    const { plugin, call, answer } = slow(outputSchema);
    const { config: served } = config(plugin, options);
    const client = await connectStdio(served);
    const asked = client.request("tools/call", outputSchema ? { name: "wait" } : execute);
    await until(() => call() !== undefined);
    await new Promise((resolve) => setTimeout(resolve, 80));
    const done = { ...textResult("done"), structuredContent: {} };
    answer(done);
    expect((await asked)["result"]).toEqual(done);
  });
});
