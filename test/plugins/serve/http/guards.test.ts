import { once } from "node:events";
import { createServer } from "node:http";
import { connect } from "node:net";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { definePlugin, definePreset, type MetaTool } from "../../../../core/mod.ts";
import { isLoopback } from "../../../../plugins/lib/http/server-request.ts";
import { serveHttp } from "../../../../plugins/serve/mod.ts";
import { catchFailure } from "../../../support/failure.ts";
import { ask, modernHeaders, preset, send, sendRaw, serveGateway, until, waiting } from "../_http.ts";

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';

/** A request whose Host, which `fetch` sets itself, is chosen. */
function withHost(url: string, host: string | undefined, version = "1.1"): Promise<string> {
  const lines = [
    `POST /mcp HTTP/${version}`,
    ...(host === undefined ? [] : [`Host: ${host}`]),
    "Content-Type: application/json",
    `Content-Length: ${ping.length}`,
    "Connection: close",
  ];
  return sendRaw(url, `${lines.join("\r\n")}\r\n\r\n${ping}`);
}

/** A free port. For what cannot be told of a server before it has started. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as { port: number };
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe("who may ask", () => {
  test.each(["localhost", "127.0.0.1", "[::1]", "LocalHost"])("a request to %s is answered", async (name) => {
    const { url } = await serveGateway();
    expect(await withHost(url, `${name}:${new URL(url).port}`)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each([
    ["another name", (port: string) => `evil.example:${port}`],
    ["another port", (port: string) => `localhost:${Number(port) - 1}`],
    ["no port", () => "localhost"],
    ["a name that begins like ours", (port: string) => `localhost.evil.example:${port}`],
    ["a name that hides ours", (port: string) => `localhost:${port}@evil.example`],
    ["another address", (port: string) => `0.0.0.0:${port}`],
    ["a number that is our address", (port: string) => `2130706433:${port}`],
  ])("extra: a request to %s is refused", async (_what, host) => {
    const { url } = await serveGateway();
    expect(await withHost(url, host(new URL(url).port))).toMatch(/^HTTP\/1\.1 403 /);
  });

  test("refuses a request without a host", async () => {
    const { url } = await serveGateway();
    expect(await withHost(url, undefined)).toMatch(/^HTTP\/1\.1 400 /);
    expect(await withHost(url, undefined, "1.0")).toMatch(/^HTTP\/1\.1 403 /);
  });

  test.each(["http://localhost:6274", "http://127.0.0.1:1", "https://localhost", "http://[::1]:8080"])(
    "a page of %s is answered",
    async (origin) => {
      const { url } = await serveGateway();
      expect((await send(url, ping, { headers: { origin } })).status).toBe(200);
    },
  );

  test.each([
    "https://evil.example",
    "http://localhost.evil.example",
    "http://localhost@evil.example",
    "null",
    "file://",
    "chrome-extension://abcdefgh",
    "http://localhost, https://evil.example",
    "localhost",
  ])("extra: a page of %s is refused, and no header says otherwise", async (origin) => {
    const { url } = await serveGateway();
    const response = await send(url, ping, { headers: { origin } });
    expect(response.status).toBe(403);
    expect([...response.headers.keys()].filter((name) => name.startsWith("access-control"))).toEqual([]);
    expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32000 } });
  });

  test("a page that asks first whether it may is told no", async () => {
    const { url } = await serveGateway();
    const response = await fetch(url, { method: "OPTIONS", headers: { origin: "http://localhost:3000" } });
    expect(response.status).toBe(405);
    expect(response.headers.get("access-control-allow-origin")).toBe(null);
  });

  test("no Origin but one of this machine passes", async () => {
    const { url } = await serveGateway();
    await fc.assert(
      fc.asyncProperty(fc.webUrl(), async (page) => {
        const { origin, hostname } = new URL(page);
        fc.pre(hostname !== "localhost");
        expect((await send(url, ping, { headers: { origin } })).status).toBe(403);
      }),
      { numRuns: 20 },
    );
  });
});

describe("what may be asked", () => {
  test.each(["/", "/mcp/", "/mcpx", "/other", "//mcp"])("there is nothing at %s", async (path) => {
    const { url } = await serveGateway();
    expect((await send(new URL(url).origin + path, ping)).status).toBe(404);
  });

  test("a query does not lead elsewhere, and another path can be chosen", async () => {
    const { url } = await serveGateway({}, { path: "/tools" });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/tools$/);
    expect((await send(`${url}?from=test`, ping)).status).toBe(200);
  });

  test.each(["PUT", "DELETE", "PATCH", "HEAD"])("%s is not allowed", async (method) => {
    const { url } = await serveGateway();
    const response = await fetch(url, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("GET, POST");
  });

  test.each([
    ["no JSON", { "content-type": "text/plain" }, 415],
    ["something compressed", { "content-encoding": "gzip" }, 415],
    ["for an answer that is neither JSON nor a stream", { accept: "text/html" }, 406],
    ["in an unknown revision", { "mcp-protocol-version": "1900-01-01" }, 400],
  ])("a request that is %s is refused", async (_what, headers, status) => {
    const { url } = await serveGateway();
    expect((await send(url, ping, { headers })).status).toBe(status);
  });

  test.each([
    ["no JSON", "hello", -32700],
    ["nothing", "", -32700],
    ["bytes that are no text", Uint8Array.of(0x22, 0xff, 0x22), -32700],
    ["a number", "1", -32600],
    ["another version", '{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600],
    ["an id that is none", '{"jsonrpc":"2.0","id":{},"method":"ping"}', -32600],
    ["neither a method nor an answer", '{"jsonrpc":"2.0"}', -32600],
    ["an empty batch", "[]", -32600],
    ["a batch with one id for two", `[${ping},${ping}]`, -32600],
    ["a batch without end", `[${Array(101).fill(ping).join(",")}]`, -32600],
  ])("a message that is %s is refused", async (_what, body, code) => {
    const { url } = await serveGateway();
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code } });
  });

  test("a message without a method is refused with its id, or null where it has none", async () => {
    const { url } = await serveGateway();
    const refusal = async (body: string): Promise<unknown> => (await send(url, body)).json();
    expect(await refusal('{"jsonrpc":"2.0"}')).toMatchObject({ id: null, error: { code: -32600 } });
    expect(await refusal('{"jsonrpc":"2.0","id":1}')).toMatchObject({ id: 1, error: { code: -32600 } });
  });

  test("a message nested too deeply is not parsed, and one at the limit is", async () => {
    const { url } = await serveGateway();
    const nested = (levels: number): string =>
      `{"jsonrpc":"2.0","id":"deep","method":"ping","params":{"x":${"[".repeat(levels)}${"]".repeat(levels)}}}`;
    const refused = await send(url, nested(127));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ id: "deep", error: { code: -32600 } });
    expect((await send(url, nested(126))).status).toBe(200);
    expect((await send(url, nested(1_000_000))).status).toBe(400);
  });

  test.each([
    ["declares its size", (size: number) => `Content-Length: ${size}\r\n\r\n${"x".repeat(size)}`],
    [
      "does not say so",
      (size: number) =>
        `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n${"x".repeat(size)}\r\n0\r\n\r\n`,
    ],
  ])("a message that is too large and %s is refused", async (_what, body) => {
    const { url } = await serveGateway();
    const { host } = new URL(url);
    const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\nContent-Type: application/json\r\n`;
    expect(await sendRaw(url, head + body(10_000_001))).toMatch(/^HTTP\/1\.1 413 /);
    expect((await send(url, ping)).status).toBe(200);
  });

  test("a message of the greatest size is read", async () => {
    const { url } = await serveGateway();
    const [begin, end] = ['{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"', '"}}'];
    const filling = "x".repeat(10_000_000 - begin.length - end.length);
    expect((await send(url, begin + filling + end)).status).toBe(200);
  });
});

describe("who takes too long", () => {
  const limits = { headersMs: 200, requestMs: 400 };

  test("a client that does not send its headers is hung up on", async () => {
    const { url } = await serveGateway({}, { limits });
    expect(await sendRaw(url, "POST /mcp HTTP/1.1\r\nHost: ")).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a client that does not send its message is hung up on", async () => {
    const { url } = await serveGateway({}, { limits });
    const { host } = new URL(url);
    const head = `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: 40\r\n\r\n`;
    expect(await sendRaw(url, `${head}{"json`)).toMatch(/^HTTP\/1\.1 408 /);
  });

  test("a client that does not read is hung up on, and its call cancelled", async () => {
    const seen = { cancelled: 0 };
    const tool: MetaTool = {
      name: "chatty",
      inputSchema: { type: "object" },
      run: (_args, { call }) =>
        new Promise((_resolve, reject) => {
          const message = "x".repeat(100_000);
          let progress = 0;
          const timer = setInterval(() => call.report({ progress: ++progress, message }), 1);
          call.signal.addEventListener("abort", () => {
            clearInterval(timer);
            seen.cancelled++;
            reject(call.signal.reason);
          });
        }),
    };
    const { url } = await serveGateway({ preset: preset([tool]) }, { limits: { stallMs: 200 } });
    const { host, port } = new URL(url);
    const params = { name: "chatty", _meta: { progressToken: 1 } };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    const socket = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.pause();
    socket.write(
      `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nAccept: text/event-stream\r\n` +
        `Content-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until(() => seen.cancelled === 1, 10_000);
    expect((await send(url, ping)).status).toBe(200);
  });

  test("more connections than allowed are not taken", async () => {
    const { url } = await serveGateway({}, { limits: { connections: 2 } });
    const port = Number(new URL(url).port);
    const sockets = Array.from({ length: 2 }, () => connect(port, "127.0.0.1"));
    onTestFinished(() => sockets.forEach((socket) => void socket.destroy()));
    await Promise.all(sockets.map((socket) => once(socket, "connect")));
    expect((await send(url, ping)).status).toBe(503);
    sockets[0]?.destroy();
    await expect.poll(async () => (await send(url, ping)).status).toBe(200);
  });
});

describe("where it is served", () => {
  test.each(["0.0.0.0", "::", ""])(
    "an address that other machines can reach is refused without authentication: %j",
    async (host) => {
      const { code, message } = await catchFailure(serveHttp({ preset: preset([]) }, { host }));
      expect(code).toBe("CONFIG_INVALID");
      expect(message).toBe(
        `The gateway cannot be served on "${host}": other machines could reach it there without authentication. Make a token with "toolpipe token" and put its lines into the config, or use 127.0.0.1, ::1 or localhost.`,
      );
    },
  );

  test.each(["192.0.2.1", "127.0.0.1.evil.example", "127.evil"])(
    "an address that is none of this machine is refused: %j",
    async (host) => {
      const { code, message } = await catchFailure(serveHttp({ preset: preset([]) }, { host }));
      expect({ code, message }).toEqual({
        code: "CONFIG_INVALID",
        message: `The port 0 of ${host} cannot be opened.`,
      });
    },
  );

  test("only addresses of this machine are taken for such", () => {
    fc.assert(fc.property(fc.ipV4(), (address) => isLoopback(address) === address.startsWith("127.")));
  });

  test.each(["localhost", "127.0.0.2"])("%s can be served", async (host) => {
    const { url } = await serveGateway({}, { host });
    expect(url).toContain(`//${host}:`);
    expect((await send(url, ping)).status).toBe(200);
  });

  test("a port that is taken is named, and nothing is started for it", async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    onTestFinished(() => void other.close());
    const { port } = other.address() as { port: number };
    let setUp = 0;
    const counting = definePlugin({ name: "counting", setup: () => void setUp++ })();
    const config = { preset: definePreset({ name: "none", plugins: [counting] }) };
    const { code, message } = await catchFailure(serveHttp(config, { port }));
    expect({ code, message }).toEqual({
      code: "CONFIG_INVALID",
      message: `The port ${port} of 127.0.0.1 is already in use.`,
    });
    expect(setUp).toBe(0);
  });

  test.each([-1, 70_000, 1.5])("a port that cannot be is refused: %j", async (port) => {
    expect(await catchFailure(serveHttp({ preset: preset([]) }, { port }))).toMatchObject({
      code: "CONFIG_INVALID",
    });
  });

  test("a path that cannot be is refused", async () => {
    expect(await catchFailure(serveHttp({ preset: preset([]) }, { path: "mcp" }))).toMatchObject({
      code: "CONFIG_INVALID",
    });
  });

  test("a gateway that cannot be set up leaves the port free", async () => {
    const port = await freePort();
    const broken = definePlugin({
      name: "broken",
      setup: () => {
        throw new Error("secret");
      },
    })();
    const config = { preset: definePreset({ name: "none", plugins: [broken] }) };
    const error = await catchFailure(serveHttp(config, { port }));
    expect(error.message).not.toContain("secret");
    const again = await serveGateway({}, { port });
    expect((await send(again.url, ping)).status).toBe(200);
  });
});

test("a request that comes while the gateway is still set up waits for it", async () => {
  let go: (() => void) | undefined;
  const slow = definePlugin({
    name: "slow",
    setup: () =>
      new Promise<void>((resolve) => {
        go = resolve;
      }),
  })();
  const port = await freePort();
  const starting = serveGateway({ preset: definePreset({ name: "slow", plugins: [slow] }) }, { port });
  await until(() => go !== undefined);
  const answer = send(`http://127.0.0.1:${port}/mcp`, ping);
  const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, "nothing"))]);
  expect(first).toBe("nothing");
  go?.();
  await starting;
  expect((await answer).status).toBe(200);
});

test("what one client does wrong, or leaves undone, does not touch another", async () => {
  const wait = waiting();
  const { url } = await serveGateway({ preset: preset([wait.tool]) });
  const held = new AbortController();
  const hung = ask(url, "tools/call", { name: "wait" }, { signal: held.signal }).catch(() => {});
  await until(() => wait.started === 1);
  await send(url, "hello");
  await send(url, ping, { headers: modernHeaders("tools/list") });
  expect((await ask(url, "tools/call", { name: "now" })).status).toBe(200);
  held.abort();
  await hung;
});
