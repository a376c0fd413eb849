import { expect, test, vi } from "vitest";
import { Call, Cancellation, GatewayError, type JsonObject, type Progress } from "../../../core/mod.ts";
import {
  createRequests,
  type RequestInit,
  type RequestOptions,
  type Requests,
  type RequestsOptions,
} from "../../../plugins/mcp/requests.ts";

const NEVER_MS = 2 ** 31 - 1;

interface Sent {
  readonly id: number;
  readonly method: string;
  readonly params: JsonObject;
}

/** The requests of a connection whose other end is the test. */
function connection({
  envelope,
  ...transport
}: Partial<RequestsOptions["transport"]> & { envelope?: JsonObject } = {}) {
  const messages: Sent[] = [];
  const signals: (AbortSignal | undefined)[] = [];
  const requests = createRequests({
    name: "test",
    envelope,
    transport: {
      async send(message, options) {
        messages.push(message as unknown as Sent);
        signals.push(options?.requestSignal);
      },
      ...transport,
    },
  });
  return {
    requests,
    messages,
    signals,
    sent: (): Sent[] => messages.filter(({ id }) => id !== undefined),
    told: (): Sent[] => messages.filter(({ id }) => id === undefined),
    answer: (id: unknown, result: JsonObject): boolean =>
      requests.receive({ jsonrpc: "2.0", id: id as number, result }),
  };
}

function ask(
  requests: Requests,
  options: RequestOptions = {},
  more: Partial<RequestInit<JsonObject>> = {},
): Promise<JsonObject> {
  return requests.send({
    method: "tools/call",
    params: { name: "a" },
    options,
    timeoutMs: NEVER_MS,
    read: (result) => result,
    ...more,
  });
}

test("each request has its own answer, in whatever order they come", async () => {
  const { requests, sent, answer } = connection();
  const answers = Promise.all(Array.from({ length: 32 }, () => ask(requests)));
  expect(new Set(sent().map(({ id }) => id)).size).toBe(32);
  for (const { id } of sent().toReversed()) expect(answer(id, { id })).toBe(true);
  expect(await answers).toEqual(sent().map(({ id }) => ({ id })));
  expect(requests.find()).toEqual([]);
});

test("an answer to a another request is not taken, nor is one with the id as a string", async () => {
  const { requests, sent, answer } = connection();
  const waiting = ask(requests);
  const id = sent()[0]?.id;
  expect([answer(1, {}), answer(String(id), {}), answer(id, { own: true }), answer(id, {})]).toEqual([
    false,
    false,
    true,
    false,
  ]);
  expect(await waiting).toEqual({ own: true });
});

test("progress reaches its request while that is pending, and only what is progress", async () => {
  const { requests, sent, answer } = connection();
  const reports: Progress[] = [];
  const waiting = ask(requests, { onProgress: (progress) => reports.push(progress) });
  const [{ id, params } = expect.fail()] = sent();
  expect(params["_meta"]).toEqual({ progressToken: id });
  const hear = (progress: JsonObject): boolean =>
    requests.receive({ jsonrpc: "2.0", method: "notifications/progress", params: progress });
  expect(hear({ progressToken: id, progress: 1, total: 2, message: "half" })).toBe(true);
  expect(hear({ progressToken: id, progress: "much" })).toBe(true);
  expect(hear({ progressToken: 7, progress: 1 })).toBe(false);
  expect(hear({ progressToken: String(id), progress: 1.5 })).toBe(true);
  answer(id, {});
  await waiting;
  expect(hear({ progressToken: id, progress: 2 })).toBe(false);
  expect(reports).toEqual([{ progress: 1, total: 2, message: "half" }, { progress: 1.5 }]);
});

test.each([
  ["a cancellation", new Cancellation()],
  ["its call", new Call({ tool: "a:b" })],
])("a request cancelled by %s is taken back, and is still known", async (_, cancellation) => {
  const { requests, sent, told, answer } = connection();
  const waiting = ask(requests, { cancellation });
  cancellation.cancel(new GatewayError("CANCELLED", "Enough."));
  await expect(waiting).rejects.toMatchObject({ code: "CANCELLED", message: "Enough." });
  const id = sent()[0]?.id;
  const params = { requestId: id, reason: "The caller no longer needs it." };
  expect(told()).toEqual([{ jsonrpc: "2.0", method: "notifications/cancelled", params }]);
  expect(requests.find()).toMatchObject([{ isOver: true }]);
  expect(requests.find(id)[0]?.over.aborted).toBe(true);
  // Until the server answers all the same.
  expect(answer(id, {})).toBe(true);
  expect(requests.find()).toEqual([]);
});

test("a request that is cancelled before it is sent is not sent", async () => {
  const { requests, messages } = connection();
  const cancellation = new Cancellation();
  cancellation.cancel();
  await expect(ask(requests, { cancellation })).rejects.toMatchObject({ code: "CANCELLED" });
  expect(messages).toEqual([]);
});

test("where a transport ends requests by a signal, it is aborted; the modern protocol needs no more", async () => {
  const remote = { endsBySignal: true, hasPerRequestStream: true };
  for (const [options, notices] of [
    [remote, 1],
    [{ ...remote, envelope: { version: "2026-07-28" } }, 0],
  ] as const) {
    const { requests, signals, told } = connection(options);
    const cancellation = new Cancellation();
    const waiting = ask(requests, { cancellation });
    expect(signals[0]?.aborted).toBe(false);
    cancellation.cancel();
    await expect(waiting).rejects.toMatchObject({ code: "CANCELLED" });
    expect(signals[0]?.aborted).toBe(true);
    expect(told()).toHaveLength(notices);
  }
});

test("a request that is answered is not taken back when its call is cancelled after", async () => {
  const { requests, sent, told, answer } = connection();
  const call = new Call({ tool: "a:b" });
  const waiting = ask(requests, { cancellation: call });
  answer(sent()[0]?.id, { content: [] });
  call.cancel(new GatewayError("CANCELLED", "Enough."));
  expect(await waiting).toEqual({ content: [] });
  expect(told()).toEqual([]);
});

test("a request that takes too long is cancelled, and its error names the limit", async () => {
  vi.useFakeTimers();
  try {
    const { requests, told } = connection();
    const data = { ms: 400 };
    const failed = expect(ask(requests, {}, { timeoutMs: 49.5, limitMs: 400 })).rejects;
    const checked = failed.toMatchObject({ code: "TIMEOUT", data });
    await vi.advanceTimersByTimeAsync(60);
    await checked;
    expect(told()).toHaveLength(1);
    expect(requests.find()).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(60_000);
    expect(requests.find()).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test("no question belongs to a request that the gateway makes for itself", async () => {
  const { requests, sent, answer } = connection();
  const waiting = ask(requests, {}, { method: "tools/list", isOwn: true });
  expect(requests.find()).toEqual([]);
  expect(requests.find(sent()[0]?.id)).toEqual([]);
  answer(sent()[0]?.id, { tools: [] });
  expect(await waiting).toEqual({ tools: [] });
});

test("fails a request on an error result, and on a message that cannot be sent", async () => {
  const { requests, sent } = connection();
  const waiting = ask(requests);
  const error = { code: -32000, message: "No." };
  requests.receive({ jsonrpc: "2.0", id: sent()[0]?.id as number, error });
  await expect(waiting).rejects.toMatchObject({ code: "UPSTREAM_ERROR", data: { rpcCode: -32000 } });
  const broken = connection({ send: () => Promise.reject(new GatewayError("DENIED", "Not today.")) });
  await expect(ask(broken.requests)).rejects.toMatchObject({ code: "DENIED" });
  expect(broken.requests.find()).toEqual([]);
});

test("the end of the connection fails every request, and refuses those after it as not sent", async () => {
  const { requests } = connection({ closeReason: "it fell over" });
  const pending = Promise.allSettled([ask(requests), ask(requests)]);
  requests.end();
  const reason = { code: "UPSTREAM_CLOSED", message: expect.stringContaining("it fell over"), data: {} };
  expect(await pending).toMatchObject([{ reason }, { reason }]);
  await expect(ask(requests)).rejects.toMatchObject({ code: "UPSTREAM_CLOSED", data: { sent: false } });
});

test("in the modern protocol each message says who sends it, and a result may be a question", async () => {
  const envelope = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
  const { requests, sent, told, answer } = connection({ envelope });
  const answers = Promise.all([ask(requests), ask(requests)]);
  expect(sent()[0]?.params["_meta"]).toEqual(envelope);
  answer(sent()[0]?.id, { resultType: "input_required" });
  answer(sent()[1]?.id, { resultType: "complete", content: [] });
  expect(await answers).toEqual([{ resultType: "input_required" }, { content: [] }]);
  expect(told()).toEqual([]);
});

test("in the legacy protocol no result is a question, and one that cannot be read fails its request", async () => {
  const { requests, sent, answer } = connection();
  const fault = new GatewayError("FORBIDDEN_KEY", "Not that.");
  const read = (): never => {
    throw fault;
  };
  const answers = Promise.allSettled([ask(requests), ask(requests, {}, { read })]);
  answer(sent()[0]?.id, { resultType: "input_required", content: [] });
  answer(sent()[1]?.id, {});
  expect(await answers).toEqual([
    { status: "fulfilled", value: { content: [] } },
    { status: "rejected", reason: fault },
  ]);
});
