import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { definePreset, type MetaTool, textResult } from "../../../../core/mod.ts";
import { countdown } from "../../../support/countdown.ts";
import {
  ask,
  askModern,
  beginSession,
  preset,
  readAnswer,
  readMessages,
  send,
  serveGateway,
  streamMessages,
  until,
  waiting,
} from "../_http.ts";

const ping = { jsonrpc: "2.0", id: 1, method: "ping" };

describe.each([
  ["legacy", ask],
  ["modern", askModern],
] as const)("closing while a client of the %s protocol is connected", (_protocol, asking) => {
  test("lets its call finish, and answers it", async () => {
    const server = await serveGateway({
      preset: definePreset({ name: "all", plugins: [] }),
      plugins: [countdown()],
    });
    const response = await asking(server.url, "tools/call", {
      name: "countdown",
      arguments: { from: 5 },
      _meta: { progressToken: 1 },
    });
    const messages = streamMessages(response);
    await messages.next();
    const closed = server.close({ drainMs: 10_000 });
    let last: unknown;
    for await (const message of messages) last = message;
    expect(last).toMatchObject({ id: 1, result: textResult("Liftoff!") });
    await closed;
    await expect(send(server.url, ping)).rejects.toThrow();
  });

  test("cancels its call once the time is up, and reports it", async () => {
    const wait = waiting();
    const server = await serveGateway({ preset: preset([wait.tool]) });
    const response = asking(server.url, "tools/call", { name: "wait" });
    await until(() => wait.started === 1);
    await server.close({ drainMs: 20 });
    expect(wait.cancelled).toBe(1);
    expect((await readAnswer(response))["result"]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("closed") }],
    });
  });
});

test("closing lets a large answer leave first", async () => {
  const text = "x".repeat(20_000_000);
  let isRunning = false;
  const large: MetaTool = {
    name: "large",
    inputSchema: { type: "object" },
    run: async () => {
      isRunning = true;
      await new Promise((resolve) => setTimeout(resolve, 50));
      return textResult(text);
    },
  };
  const server = await serveGateway({ preset: preset([large]) });
  const answer = readAnswer(ask(server.url, "tools/call", { name: "large" }));
  await until(() => isRunning);
  await server.close({ drainMs: 10_000 });
  expect((await answer)["result"]).toEqual(textResult(text));
});

test("closing ends the streams that only listen, each as its protocol version wants", async () => {
  const server = await serveGateway();
  const older = await fetch(server.url, { headers: { accept: "text/event-stream" } });
  const newer = await askModern(server.url, "subscriptions/listen", {
    notifications: { toolsListChanged: true },
  });
  const [heardByOlder, heardByNewer] = [readMessages(older), readMessages(newer)];
  await server.close({ drainMs: 60_000 });
  expect(await heardByOlder).toEqual([]);
  expect(await heardByNewer).toMatchObject([
    { method: "notifications/subscriptions/acknowledged" },
    {
      id: 1,
      result: { resultType: "complete", _meta: { "io.modelcontextprotocol/subscriptionId": 1 } },
    },
  ]);
});

test("closing does not wait for a connection on which nothing happens, or one that was never used", async () => {
  const server = await serveGateway();
  expect((await send(server.url, ping)).status).toBe(200);
  const silent = connect(Number(new URL(server.url).port), "127.0.0.1");
  onTestFinished(() => void silent.destroy());
  silent.on("error", () => {});
  await new Promise((resolve) => silent.once("connect", resolve));
  const hungUp = new Promise((resolve) => silent.once("close", resolve));
  silent.resume();
  await server.close({ drainMs: 60_000 });
  await hungUp;
});

test("while it closes, a connection that is still open is told so", async () => {
  const wait = waiting();
  const server = await serveGateway({ preset: preset([wait.tool]) });
  const { host, port } = new URL(server.url);
  const socket = connect(Number(port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  let received = "";
  socket.on("data", (chunk) => {
    received += chunk;
  });
  const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\n`;
  // The head of a request keeps the connection from being idle; the rest of it comes when closing has begun.
  socket.write(`${head}Content-Length: 40\r\n\r\n`);
  const held = ask(server.url, "tools/call", { name: "wait" });
  await until(() => wait.started === 1);
  const closed = server.close({ drainMs: 1_000 });
  socket.write('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  await until(() => received.includes("\r\n\r\n"));
  expect(received).toMatch(/^HTTP\/1\.1 503 /);
  await held;
  await closed;
});

test("while it closes, a client can still cancel its call", async () => {
  const wait = waiting();
  const server = await serveGateway({ preset: preset([wait.tool]) });
  const { host, port } = new URL(server.url);
  const message = '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}';
  const headers = await beginSession(server.url);
  const socket = connect(Number(port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nMcp-Session-Id: ${headers["mcp-session-id"]}\r\n` +
      `Content-Length: ${message.length}\r\n\r\n`,
  );
  const call = ask(server.url, "tools/call", { name: "wait" }, { headers });
  await until(() => wait.started === 1);
  const closed = server.close({ drainMs: 60_000 });
  socket.write(message);
  await closed;
  expect(wait.cancelled).toBe(1);
  expect(await readMessages(await call)).toEqual([]);
});

test("closing twice is closing once, and no server is there afterwards", async () => {
  const server = await serveGateway();
  await Promise.all([server.close(), server.close({ drainMs: 0 })]);
  await expect(send(server.url, ping)).rejects.toThrow();
});
