import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import { Cancellation } from "../../../../core/mod.ts";
import { faultyServer } from "../../../fixtures/http-faulty.ts";
import { closeServers, modern } from "../../../fixtures/http-servers.ts";
import { catchFailure } from "../../../support/failure.ts";
import { until } from "../../../support/until.ts";
import { connected, readText, remote } from "../_http.ts";

afterEach(closeServers);

/** Sends a byte now and then, and never ends. */
function trickle(send: (text: string) => void, closed: () => boolean): void {
  const timer = setInterval(() => (closed() ? clearInterval(timer) : send(" ")), 50);
}

describe("an answer that trickles in", () => {
  test.each(["application/json", "text/event-stream"])(
    "as %s is ended by the call's time limit, and so is its connection",
    async (type) => {
      let closed = false;
      const server = await faultyServer({
        onCall(_, response, send) {
          response.writeHead(200, { "content-type": type });
          response.on("close", () => {
            closed = true;
          });
          trickle(send, () => closed);
        },
      });
      await using upstream = await connected(server.url);
      const start = performance.now();
      expect(await catchFailure(upstream.call("slow", {}, { timeoutMs: 1_000 }))).toMatchObject({
        code: "TIMEOUT",
      });
      const took = performance.now() - start;
      expect(took).toBeGreaterThan(900);
      expect(took).toBeLessThan(10_000);
      await until(() => closed);
      expect(readText(await upstream.call("echo", { text: "still here" }))).toBe("still here");
    },
  );

  test("on the one stream of an older server fails that call, and the next one works", async () => {
    let hold = true;
    const server = await faultyServer({
      sse: true,
      onCall: (_, __, send) =>
        trickle(
          () => send(":"),
          () => !hold,
        ),
    });
    await using upstream = await connected(remote(server.url, { type: "sse" }));
    expect(await catchFailure(upstream.call("slow", {}, { timeoutMs: 300 }))).toMatchObject({
      code: "TIMEOUT",
    });
    hold = false;
    await until(() => server.messages.at(-1)?.method === "notifications/cancelled");
  });

  test("already at the handshake is ended by the time limit of the start", async () => {
    let closed = 0;
    const server = await faultyServer({
      onRequest(_, response) {
        response.writeHead(200, { "content-type": "application/json" });
        const timer = setInterval(() => response.write(" "), 50);
        response.on("close", () => {
          clearInterval(timer);
          closed++;
        });
        return true;
      },
    });
    const start = performance.now();
    expect(await catchFailure(connected(server.url, { startTimeoutMs: 1_000 }))).toMatchObject({
      code: expect.stringMatching(/TIMEOUT|CONNECT_FAILED/),
    });
    expect(performance.now() - start).toBeLessThan(10_000);
    await until(() => closed === server.seen.length);
  });

  test("a server of the older kind that never names its second address is abandoned", async () => {
    const server = await faultyServer({
      onRequest(_, response) {
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(": hello\n\n");
        return true;
      },
    });
    const start = performance.now();
    const error = await catchFailure(connected(remote(server.url, { type: "sse" }), { startTimeoutMs: 500 }));
    expect(error).toMatchObject({ code: "CONNECT_TIMEOUT" });
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("an answer of 300 MB", () => {
  const megabyte = "x".repeat(1_000_000);

  /** Sends a result of 300 MB piece by piece, as fast as it is taken. Returns how many megabytes were. */
  async function flood(id: unknown, response: ServerResponse): Promise<number> {
    const stop = new AbortController();
    response.once("close", () => stop.abort());
    const drained = (): Promise<unknown> => once(response, "drain", { signal: stop.signal }).catch(() => {});
    response.write(`data: {"result":{"content":[{"type":"text","text":"`);
    let count = 0;
    for (; count < 300 && !response.destroyed; count++) if (!response.write(megabyte)) await drained();
    response.write(`"}]},"jsonrpc":"2.0","id":${JSON.stringify(id)}}\n\n`);
    return count;
  }

  test.each([
    ["a stream of its own", false],
    ["the stream of all answers", true],
  ])("on %s fails its call with RESPONSE_TOO_LARGE, and no other", async (_, sse) => {
    let finish: (() => void) | undefined;
    let sent = 0;
    const server = await faultyServer({
      sse,
      onCall({ id, params }, response, send) {
        if (!response.headersSent) response.writeHead(200, { "content-type": "text/event-stream" });
        const result = `{"content":[{"type":"text","text":"late"}]}`;
        if (params?.name === "late")
          finish = () => send(`data: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`);
        else
          void flood(id, response).then((count) => {
            sent = count;
            finish?.();
          });
      },
    });
    await using upstream = await connected(remote(server.url, { type: sse ? "sse" : "http" }));
    const late = upstream.call("late", {});
    await until(() => finish !== undefined);
    let highest = 0;
    const before = process.memoryUsage().rss;
    const timer = setInterval(() => {
      highest = Math.max(highest, process.memoryUsage().rss);
    }, 5);
    expect(await catchFailure(upstream.call("big", {}))).toMatchObject({ code: "RESPONSE_TOO_LARGE" });
    clearInterval(timer);
    // Sender and receiver are one process here. What is waiting to be collected came to 100 MB; a kept answer would be 300.
    expect((highest - before) / 1e6).toBeLessThan(200);
    expect(readText(await upstream.call("echo", { text: "still here" }))).toBe("still here");
    expect(readText(await late)).toBe("late");
    // A body that is not needed is not even read.
    if (sse) expect(sent).toBe(300);
    else expect(sent).toBeLessThan(60);
  });

  test("in one JSON document fails its call, and no other", async () => {
    const server = await faultyServer({
      onCall(_, response) {
        response.writeHead(200, { "content-type": "application/json" });
        let count = 0;
        const more = (): void => {
          while (count++ < 100 && !response.destroyed)
            if (!response.write(megabyte)) return void response.once("drain", more);
        };
        more();
      },
    });
    await using upstream = await connected(server.url);
    expect(await catchFailure(upstream.call("big", {}))).toMatchObject({ code: "RESPONSE_TOO_LARGE" });
    expect(readText(await upstream.call("echo", { text: "still here" }))).toBe("still here");
  });
});

test("an answer that is nested 100,000 levels deep fails its call with RESPONSE_TOO_DEEP", async () => {
  const server = await faultyServer({
    onCall({ id }, response) {
      const deep = "[".repeat(100_000) + "]".repeat(100_000);
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"jsonrpc":"2.0","id":${id},"result":{"content":[],"structuredContent":${deep}}}`);
    },
  });
  await using upstream = await connected(server.url);
  expect(await catchFailure(upstream.call("deep", {}))).toMatchObject({ code: "RESPONSE_TOO_DEEP" });
});

test.each(["text/html", "application/json", "text/event-stream"])(
  "an answer in %s that is no message is a failure at once",
  async (type) => {
    const server = await faultyServer({
      onCall: (_, response) => void response.writeHead(200, { "content-type": type }).end("data: <html>\n\n"),
    });
    await using upstream = await connected(server.url);
    const error = await catchFailure(upstream.call("odd", {}, { timeoutMs: 5_000 }));
    expect(error.code).toMatch(/^UPSTREAM_(PROTOCOL|CLOSED)$/);
  },
);

test("a call that is cancelled closes its connection at once, which tells a server of the modern protocol", async () => {
  let waiting = false;
  let closed = false;
  const server = await modern("reject", (request, response) => {
    if (request.headers["mcp-name"] !== "wait") return true;
    waiting = true;
    response.on("close", () => {
      closed = true;
    });
    return true;
  });
  await using upstream = await connected(server.url);
  const cancellation = new Cancellation();
  const call = catchFailure(upstream.call("wait", {}, { cancellation }));
  await until(() => waiting);
  cancellation.cancel();
  expect(await call).toMatchObject({ code: "CANCELLED" });
  await until(() => closed);
});

test("a stream that breaks within a call fails it at once", async () => {
  const server = await faultyServer({
    onCall(_, response, send) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      send('data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}\n\n');
      setTimeout(() => response.destroy(), 50);
    },
  });
  await using upstream = await connected(server.url);
  const start = performance.now();
  expect(await catchFailure(upstream.call("broken", {}))).toMatchObject({ code: "UPSTREAM_CLOSED" });
  expect(performance.now() - start).toBeLessThan(10_000);
});

test("a stream that stays open after its answer is closed", async () => {
  let closed = false;
  const server = await faultyServer({
    onCall({ id }, response, send) {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.on("close", () => {
        closed = true;
      });
      send(`data: {"jsonrpc":"2.0","id":${id},"result":{"content":[]}}\n\n`);
    },
  });
  await using upstream = await connected(server.url);
  expect(await upstream.call("open", {})).toEqual({ content: [] });
  await until(() => closed, 3_000);
});
