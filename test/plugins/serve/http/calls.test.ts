import { createServer } from "node:http";
import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createGateway,
  definePreset,
  GatewayError,
  type JsonObject,
  type MetaTool,
  type ToolResult,
  textResult,
} from "../../../../core/mod.ts";
import { createEndpoint } from "../../../../plugins/serve/http/endpoint.ts";
import { createSlowBodies } from "../../../../plugins/serve/http/slow-bodies.ts";
import { createView, httpLimits, servePlugin } from "../../../../plugins/serve/mod.ts";
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

const protocols = [
  ["legacy", ask],
  ["modern", askModern],
] as const;

const who = { "io.modelcontextprotocol/serverInfo": { name: "toolpipe", version: expect.any(String) } };

function tool(name: string, run: MetaTool["run"]): MetaTool {
  return { name, inputSchema: { type: "object" }, run };
}

describe("a legacy client", () => {
  test("begins a session, and is told who we are and how to use us", async () => {
    const config = {
      preset: definePreset({ name: "told", plugins: [], instructions: () => "Search first." }),
    };
    const { url } = await serveGateway(config);
    const response = await ask(url, "initialize", { protocolVersion: "2025-06-18", capabilities: {} });
    expect(response.headers.get("mcp-session-id")).toMatch(/^[\x21-\x7e]{36}$/);
    expect((await readAnswer(response))["result"]).toEqual({
      protocolVersion: "2025-06-18",
      capabilities: { tools: { listChanged: true } },
      serverInfo: who["io.modelcontextprotocol/serverInfo"],
      instructions: "Search first.",
    });
  });

  test("gets no two sessions alike, and none where it did not ask for one", async () => {
    const { url } = await serveGateway();
    const begin = async (): Promise<unknown> => (await ask(url, "initialize")).headers.get("mcp-session-id");
    expect(await begin()).not.toEqual(await begin());
    expect((await ask(url, "tools/list")).headers.get("mcp-session-id")).toBe(null);
  });

  test("is served without a session, and under one from before a restart is told to begin another", async () => {
    const { url } = await serveGateway();
    const list = (headers: Record<string, string>): Promise<Response> =>
      ask(url, "tools/list", {}, { headers });
    expect((await readAnswer(list({})))["result"]).toMatchObject({ tools: [{ name: "now" }] });
    const lost = { "mcp-session-id": "of-long-ago" };
    expect((await list(lost)).status).toBe(404);
    expect((await fetch(url, { headers: { accept: "text/event-stream", ...lost } })).status).toBe(404);
    // A client may send the lost one along as it begins another.
    expect((await list(await beginSession(url, {}, { headers: lost }))).status).toBe(200);
  });

  test("sends notices and answers, which are taken", async () => {
    const { url } = await serveGateway();
    for (const message of [
      { method: "notifications/initialized" },
      { method: "notifications/cancelled", params: { requestId: 99 } },
      { id: 5, result: {} },
      { id: 5, error: { code: 1, message: "no" } },
    ]) {
      const response = await send(url, { jsonrpc: "2.0", ...message });
      expect([response.status, await response.text()]).toEqual([202, ""]);
    }
  });

  test("sends several messages at once, and gets all answers at once", async () => {
    const { url } = await serveGateway();
    const batch = [
      { jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "now" } },
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: "b", method: "nonsense" },
    ];
    const response = await send(url, batch);
    expect(response.headers.get("content-type")).toBe("application/json");
    const answers = (await response.json()) as JsonObject[];
    expect(answers).toHaveLength(2);
    expect(answers).toContainEqual({ jsonrpc: "2.0", id: "a", result: textResult("done") });
    expect(answers).toContainEqual(expect.objectContaining({ id: "b" }));
    const single = await send(url, batch.slice(0, 1));
    expect(await single.json()).toEqual([{ jsonrpc: "2.0", id: "a", result: textResult("done") }]);
    expect((await send(url, batch.slice(1, 2))).status).toBe(202);
  });

  test("cancels a call of its session, and no call of another with an equal id", async () => {
    const wait = waiting();
    const { url } = await serveGateway({ preset: preset([wait.tool]) });
    const gone = new AbortController();
    const session = await beginSession(url);
    const [mine, others] = [session, await beginSession(url)].map((headers) =>
      ask(url, "tools/call", { name: "wait" }, { headers, signal: gone.signal }),
    );
    await until(() => wait.started === 2);
    const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    for (const [headers, status] of [
      [{}, 202],
      [{ "mcp-session-id": "unknown" }, 404],
      [session, 202],
    ] as const) {
      expect((await send(url, cancelled, { headers })).status).toBe(status);
    }
    expect(await readMessages(await (mine as Promise<Response>))).toEqual([]);
    expect(wait.cancelled).toBe(1);
    gone.abort();
    await expect(others).rejects.toThrow();
  });

  test("hears of a changed list on the stream it opens, and of each change once", async () => {
    const { url, gateway } = await serveGateway({ preset: definePreset({ name: "all", plugins: [] }) });
    const session = await beginSession(url);
    const listen = (): Promise<Response> =>
      fetch(url, { headers: { accept: "text/event-stream", ...session } });
    const lost = await listen();
    const response = await listen();
    expect(response.status).toBe(200);
    expect(await readMessages(lost)).toEqual([]);
    const heard = streamMessages(response);
    await gateway.catalog.replace({ id: "more" }, [{ name: "extra", inputSchema: {} }]);
    expect((await heard.next()).value).toEqual({
      jsonrpc: "2.0",
      method: "notifications/tools/list_changed",
    });
    await gateway.catalog.replace({ id: "more" }, []);
    expect((await heard.next()).value).toEqual({
      jsonrpc: "2.0",
      method: "notifications/tools/list_changed",
    });
    await heard.return(undefined);
  });

  test.each([
    ["no stream is wanted", { accept: "application/json" }, 406],
    ["the revision is unknown", { accept: "text/event-stream", "mcp-protocol-version": "1900-01-01" }, 400],
    ["the revision has none", { accept: "text/event-stream", "mcp-protocol-version": "2026-07-28" }, 405],
  ])("gets no stream where %s", async (_what, headers, status) => {
    const { url } = await serveGateway();
    expect((await fetch(url, { headers })).status).toBe(status);
  });
});

describe("a modern client", () => {
  test("discovers the server, and every result reports what it is and who made it", async () => {
    const config = {
      preset: definePreset({ name: "told", plugins: [], instructions: () => "Search first." }),
    };
    const { url } = await serveGateway(config);
    const response = await askModern(url, "server/discover");
    expect(response.headers.get("mcp-session-id")).toBe(null);
    expect((await readAnswer(response))["result"]).toMatchObject({
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true } },
      instructions: "Search first.",
      resultType: "complete",
      _meta: who,
    });
  });

  test("listens for changes of the list until it has enough", async () => {
    const { url, gateway } = await serveGateway({ preset: definePreset({ name: "all", plugins: [] }) });
    const gone = new AbortController();
    const response = await askModern(
      url,
      "subscriptions/listen",
      { notifications: { toolsListChanged: true } },
      { signal: gone.signal },
    );
    const heard = streamMessages(response);
    const _meta = { "io.modelcontextprotocol/subscriptionId": 1 };
    expect((await heard.next()).value).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { toolsListChanged: true }, _meta },
    });
    await gateway.catalog.replace({ id: "more" }, [{ name: "extra", inputSchema: {} }]);
    expect((await heard.next()).value).toMatchObject({
      method: "notifications/tools/list_changed",
      params: { _meta },
    });
    gone.abort();
    await expect(heard.next()).rejects.toThrow();
  });
});

describe.each(protocols)("a call in the %s protocol", (protocol, asking) => {
  const odd: ToolResult & JsonObject = {
    content: [
      { type: "text", text: "hi", annotations: { audience: ["user"], vendor: 1 }, vendor: { a: [null] } },
      { type: "image", data: "not base64", mimeType: "image/png" },
      { type: "resource", resource: { uri: "x:y", text: "z", extra: true } },
      { type: "hologram", beam: 1 },
    ],
    structuredContent: { rows: [1, "two", null] },
    isError: true,
    _meta: { "example.com/trace": "1" },
    vendor: "kept",
  };

  test("passes a result on as it is, whatever is in it", async () => {
    const { url } = await serveGateway({ preset: preset([tool("odd", () => odd)]) });
    const { result } = await readAnswer(asking(url, "tools/call", { name: "odd" }));
    const more =
      protocol === "modern" ? { resultType: "complete", _meta: { ...(odd._meta as object), ...who } } : {};
    expect(result).toEqual({ ...odd, ...more });
  });

  test("is answered with JSON where nothing comes before the answer", async () => {
    const { url } = await serveGateway();
    const response = await asking(url, "tools/call", { name: "now" });
    expect(response.headers.get("content-type")).toBe("application/json");
    expect((await readAnswer(response))["result"]).toMatchObject(textResult("done"));
  });

  test("streams its progress, under the token of the client and before the answer", async () => {
    const { url } = await serveGateway({
      preset: definePreset({ name: "all", plugins: [] }),
      plugins: [countdown()],
    });
    const response = await asking(url, "tools/call", {
      name: "countdown",
      arguments: { from: 3 },
      _meta: { progressToken: "mine" },
    });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    const messages = await readMessages(response);
    expect(messages.slice(0, 3).map((message) => message["params"])).toEqual([
      { progressToken: "mine", progress: 1, total: 3, message: "2" },
      { progressToken: "mine", progress: 2, total: 3, message: "1" },
      { progressToken: "mine", progress: 3, total: 3, message: "0" },
    ]);
    expect(messages[3]).toMatchObject({ id: 1, result: textResult("Liftoff!") });
    expect(messages).toHaveLength(4);
  });

  test("is answered with JSON alone where the client takes no stream, and as a stream where it takes nothing else", async () => {
    const { url } = await serveGateway({
      preset: definePreset({ name: "all", plugins: [] }),
      plugins: [countdown()],
    });
    const params = { name: "countdown", arguments: { from: 2 }, _meta: { progressToken: 1 } };
    for (const [accept, type] of [
      ["application/json", "application/json"],
      ["*/*", "application/json"],
      ["text/event-stream", "text/event-stream"],
    ] as const) {
      const response = await asking(url, "tools/call", params, { headers: { accept } });
      expect(response.headers.get("content-type")).toBe(type);
      expect((await readMessages(response)).at(-1)).toMatchObject({ id: 1, result: textResult("Liftoff!") });
    }
  });

  test("that takes long becomes a stream, so that no client gives up on it", async () => {
    let answer: (result: ToolResult) => void = () => {};
    const slow = tool("slow", () => new Promise<ToolResult>((resolve) => (answer = resolve)));
    const { url } = await serveGateway({ preset: preset([slow]) }, { limits: { keepAliveMs: 20 } });
    const response = await asking(url, "tools/call", { name: "slow" });
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    let text = "";
    while (text.split(": still here").length < 3)
      text += new TextDecoder().decode((await reader.read()).value);
    answer(textResult("at last"));
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += new TextDecoder().decode(value);
    }
    expect(text).toContain("at last");
  });

  test("whose client goes away is cancelled, whether it has begun to answer or not", async () => {
    const wait = waiting();
    const { url } = await serveGateway({ preset: preset([wait.tool]) });
    for (const [count, _meta] of [[1], [2, { progressToken: 1 }]] as const) {
      const gone = new AbortController();
      const { signal } = gone;
      const response = asking(url, "tools/call", { name: "wait", ...(_meta && { _meta }) }, { signal });
      if (_meta)
        expect((await streamMessages(await response).next()).value).toMatchObject({
          params: { progress: 1 },
        });
      await until(() => wait.started === count);
      gone.abort();
      if (!_meta) await expect(response).rejects.toThrow();
      await until(() => wait.cancelled === count);
    }
  });

  test("that fails explains it in words the agent can read, and nothing of why", async () => {
    const denied = tool("deny", () => {
      throw new GatewayError("DENIED", "Not you.", { cause: new Error("secret") });
    });
    const { url } = await serveGateway({ preset: preset([denied]) });
    const text = await (await asking(url, "tools/call", { name: "deny" })).text();
    expect(JSON.parse(text)["result"]).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("Not you.") }],
    });
    expect(text).not.toContain("secret");
  });

  test("of a tool that does not exist, or with arguments that are none, is an error of the protocol", async () => {
    const { url } = await serveGateway();
    expect(await readAnswer(asking(url, "tools/call", { name: "nope" }))).toMatchObject({
      id: 1,
      error: { code: -32601 },
    });
    expect(await readAnswer(asking(url, "tools/call", { name: "now", arguments: [] }))).toMatchObject({
      id: 1,
      error: { code: -32602 },
    });
    expect(await readAnswer(asking(url, "tools/call", {}))).toMatchObject({ id: 1, error: { code: -32602 } });
  });
});

test("of many callers at once, with the same ids and in both protocols, each gets its own answer", async () => {
  const echo = tool("echo", async ({ text }, { call }) => {
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
    call.report({ progress: 1, message: String(text) });
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 20));
    return textResult(String(text));
  });
  const { url } = await serveGateway({ preset: preset([echo]) });
  await Promise.all(
    Array.from({ length: 32 }, async (_, caller) => {
      const asking = caller % 2 === 0 ? ask : askModern;
      for (const round of [1, 2, 3]) {
        const text = `${caller}/${round}`;
        const messages = await readMessages(
          await asking(url, "tools/call", { name: "echo", arguments: { text }, _meta: { progressToken: 0 } }),
        );
        expect(messages).toMatchObject([{ params: { message: text } }, { id: 1, result: textResult(text) }]);
      }
    }),
  );
});

test("a config that is read again is served at the same address, and who listens is told", async () => {
  const server = await serveGateway({ preset: preset([]) });
  const stream = await fetch(server.url, { headers: { accept: "text/event-stream" } });
  const heard = streamMessages(stream);
  await server.reload({ preset: preset([tool("later", () => textResult("new"))]) });
  expect((await heard.next()).value).toMatchObject({ method: "notifications/tools/list_changed" });
  expect((await readAnswer(ask(server.url, "tools/call", { name: "later" })))["result"]).toEqual(
    textResult("new"),
  );
  await heard.return(undefined);
});

test("nothing of a request is left behind once it is answered", async () => {
  const view = createView();
  let listeners = 0;
  const { listen } = view.lists;
  view.lists.listen = (listener) => {
    listeners++;
    const stop = listen(listener);
    return () => {
      listeners--;
      stop();
    };
  };
  const endpoint = createEndpoint({
    view,
    gateway: () => gateway,
    check: () => {},
    limits: { ...httpLimits, slowBodies: createSlowBodies(httpLimits.slowBodiesPerCaller) },
  });
  const gateway = await createGateway({ preset: preset([]), plugins: [servePlugin(view)] });
  view.show(gateway);
  const server = createServer(endpoint.handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.close();
    server.closeAllConnections();
    await gateway.close();
  });
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/mcp`;
  for (const asking of [ask, askModern]) await readAnswer(asking(url, "tools/call", { name: "now" }));
  const listening = await fetch(url, { headers: { accept: "text/event-stream" } });
  expect(listeners).toBeGreaterThan(0);
  await listening.body?.cancel();
  await until(() => listeners === 0);
  await endpoint.settled();
});

test("a client that reads late misses notices, but not the answer, and costs no memory without end", async () => {
  let isDone = false;
  const chatty = tool("chatty", async (_args, { call }) => {
    const message = "x".repeat(100_000);
    for (let progress = 1; progress <= 500; progress++) {
      call.report({ progress, message });
      await new Promise((resolve) => setImmediate(resolve));
    }
    isDone = true;
    return textResult("the answer");
  });
  const { url } = await serveGateway({ preset: preset([chatty]) });
  const { host, port } = new URL(url);
  const params = { name: "chatty", _meta: { progressToken: 1 } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  const socket = connect(Number(port), "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  socket.pause();
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json\r\n` +
      `Accept: text/event-stream\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
  );
  await until(() => isDone);
  let length = 0;
  let last = "";
  socket.on("data", (chunk) => {
    length += chunk.length;
    last = (last + chunk).slice(-1_000);
  });
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
  expect(last).toContain("the answer");
  expect(length).toBeLessThan(25_000_000);
});
