import { expect, test, vi } from "vitest";
import { Call, GatewayError, type JsonObject, type Progress, type ToolResult } from "../../../core/mod.ts";
import {
  type DirectCalls,
  type DirectOptions,
  directCalls,
} from "../../../plugins/upstreams/_direct-calls.ts";
import type { Exchange } from "../../../plugins/upstreams/stdio-transport.ts";

const NEVER_MS = 2 ** 31 - 1;

interface Sent {
  readonly id: number;
  readonly params: JsonObject;
}

/** The requests of a connection whose other end is the test. */
function connection(envelope?: JsonObject) {
  const sent: (Sent & { readonly waiting: Exchange })[] = [];
  const told: JsonObject[] = [];
  const calls = directCalls({
    envelope,
    explain: (thrown) => GatewayError.from(thrown, "It failed."),
    late: (ms) => new GatewayError("TIMEOUT", `Not within ${ms} ms.`),
    transport: {
      exchange: (message, waiting) => void sent.push({ ...(message as unknown as Sent), waiting }),
      async send(message) {
        told.push(message as unknown as JsonObject);
      },
    },
  });
  return { calls, sent, told };
}

function ask(calls: DirectCalls, options: DirectOptions = {}, timeoutMs = NEVER_MS): Promise<ToolResult> {
  return calls.call({ name: "a" }, options, timeoutMs);
}

test("each request has its own answer, in whatever order they come", async () => {
  const { calls, sent } = connection();
  const answers = Promise.all(Array.from({ length: 32 }, () => ask(calls)));
  expect(new Set(sent.map(({ id }) => id)).size).toBe(32);
  for (const { id, waiting } of sent.toReversed()) waiting.answered({ id });
  expect(await answers).toEqual(sent.map(({ id }) => ({ id, content: [] })));
  expect(calls.owners()).toEqual([]);
});

test("progress reaches its request while that is under way, and only what is progress", async () => {
  const { calls, sent } = connection();
  const reports: Progress[] = [];
  const answer = ask(calls, { onProgress: (progress) => reports.push(progress) });
  const [{ id, params, waiting } = expect.fail()] = sent;
  expect(params["_meta"]).toEqual({ progressToken: id });
  const hear = (progress: JsonObject): boolean => calls.hear("notifications/progress", progress);
  expect(hear({ progressToken: id, progress: 1, total: 2, message: "half" })).toBe(true);
  expect(hear({ progressToken: id, progress: "much" })).toBe(true);
  expect(hear({ progressToken: 7, progress: 1 })).toBe(false);
  expect(hear({ progressToken: String(id), progress: 1.5 })).toBe(true);
  waiting.answered({});
  await answer;
  expect(hear({ progressToken: id, progress: 2 })).toBe(false);
  expect(reports).toEqual([{ progress: 1, total: 2, message: "half" }, { progress: 1.5 }]);
});

test.each(["a signal", "its call"])(
  "a request cancelled by %s is taken back, and is still known",
  async (by) => {
    const { calls, sent, told } = connection();
    const controller = new AbortController();
    const call = new Call({ tool: "a:b" });
    const answer = ask(calls, by === "a signal" ? { signal: controller.signal } : { cancellation: call });
    controller.abort();
    call.cancel(new GatewayError("CANCELLED", "Enough."));
    await expect(answer).rejects.toMatchObject({ code: "CANCELLED" });
    const params = { requestId: sent[0]?.id, reason: "The caller no longer needs it." };
    expect(told).toEqual([{ jsonrpc: "2.0", method: "notifications/cancelled", params }]);
    expect(calls.owners()).toMatchObject([{ isOver: true }]);
    expect(calls.owners()[0]?.over.aborted).toBe(true);
  },
);

test("a request that is answered is not taken back when its call is cancelled after", async () => {
  const { calls, sent, told } = connection();
  const call = new Call({ tool: "a:b" });
  const answer = ask(calls, { cancellation: call });
  sent[0]?.waiting.answered({ content: [] });
  call.cancel(new GatewayError("CANCELLED", "Enough."));
  expect(await answer).toEqual({ content: [] });
  expect(told).toEqual([]);
});

test("a request that takes too long is taken back", async () => {
  vi.useFakeTimers();
  try {
    const { calls, told } = connection();
    const answer = expect(ask(calls, {}, 50)).rejects.toMatchObject({ code: "TIMEOUT" });
    await vi.advanceTimersByTimeAsync(60);
    await answer;
    expect(told).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls.owners()).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("the end of the connection is the end of every request", async () => {
  const { calls } = connection();
  const answers = Promise.allSettled([ask(calls), ask(calls)]);
  calls.end(() => new GatewayError("CLOSED", "It is over."));
  expect(await answers).toMatchObject([{ reason: { code: "CLOSED" } }, { reason: { code: "CLOSED" } }]);
});

test("in the newer era each message says who sends it, and a result may be a question", async () => {
  const { calls, sent, told } = connection({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
  const answers = Promise.all([ask(calls), ask(calls)]);
  expect(sent[0]?.params["_meta"]).toEqual({ "io.modelcontextprotocol/protocolVersion": "2026-07-28" });
  sent[0]?.waiting.answered({ resultType: "input_required" });
  sent[1]?.waiting.answered({ resultType: "complete", content: [] });
  expect(await answers).toEqual([{ resultType: "input_required", content: [] }, { content: [] }]);
  expect(told).toEqual([]);
});

test("in the older era no result is a question, and none reaches a prototype", async () => {
  const { calls, sent } = connection();
  const answers = Promise.allSettled([ask(calls), ask(calls)]);
  sent[0]?.waiting.answered({ resultType: "input_required", content: [] });
  sent[1]?.waiting.answered(JSON.parse('{"__proto__":{"a":1}}'));
  expect(await answers).toMatchObject([{ value: { content: [] } }, { reason: { code: "FORBIDDEN_KEY" } }]);
});
