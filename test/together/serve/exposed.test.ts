import { connect } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { serveHttp } from "../../../plugins/serve/mod.ts";
import { ask, preset, send, sendRaw, serveGateway } from "../../plugins/serve/_http.ts";
import { catchFailure } from "../../support/failure.ts";
import { by, onlyPeople } from "../_people.ts";

const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
const config = { preset: preset([]), plugins: [onlyPeople] };

async function fetchStatus(url: string, host: string, origin?: string): Promise<number> {
  const lines = [
    "POST /mcp HTTP/1.1",
    `Host: ${host}`,
    ...(origin === undefined ? [] : [`Origin: ${origin}`]),
    "Authorization: Bearer tp_ann",
    "Content-Type: application/json",
    `Content-Length: ${ping.length}`,
    "Connection: close",
  ];
  const answer = await sendRaw(url, `${lines.join("\r\n")}\r\n\r\n${ping}`);
  return Number(/^HTTP\/1\.1 (\d+) /.exec(answer)?.[1]);
}

describe("at an address that others can reach", () => {
  test.each(["0.0.0.0", "::"])("a caller with a token is served: %s", async (host) => {
    const { url } = await serveGateway(config, { host });
    const { port } = new URL(url);
    const own = `http://127.0.0.1:${port}/mcp`;
    expect((await ask(own, "ping")).status).toBe(401);
    expect((await ask(own, "ping", {}, by("ann"))).status).toBe(200);
  });

  test("extra: a name that is not ours is 403, and one that is allowed is not", async () => {
    const { url } = await serveGateway(config, {
      host: "0.0.0.0",
      allowedHosts: ["gw.example", "Two.example:8443"],
    });
    const { port } = new URL(url);
    const statuses = await Promise.all(
      [
        "evil.example",
        `evil.example:${port}`,
        "two.example",
        "two.example:1",
        "gw.example.evil.example",
        "gw.example",
        "GW.example:9999",
        "two.example:8443",
        `127.0.0.1:${port}`,
      ].map((host) => fetchStatus(url, host)),
    );
    expect(statuses).toEqual([403, 403, 403, 403, 403, 200, 200, 200, 200]);
  });

  test("extra: a page of a stranger is 403; our own, and one that is allowed, are not", async () => {
    const { url } = await serveGateway(config, {
      host: "0.0.0.0",
      allowedHosts: ["gw.example"],
      allowedOrigins: ["https://app.example"],
    });
    const statuses = await Promise.all(
      [
        "https://evil.example",
        "https://gw.example.evil.example",
        "https://app.example.evil.example",
        "https://app.example:8443",
        "null",
        "https://gw.example",
        "https://app.example",
      ].map((origin) => fetchStatus(url, "gw.example", origin)),
    );
    expect(statuses).toEqual([403, 403, 403, 403, 403, 200, 200]);
  });

  test.each([
    [{ allowedHosts: ["https://gw.example"] }, /allowed host "https:\/\/gw.example" is none/],
    [{ allowedHosts: ["gw.example/x"] }, /is none: write a name/],
    [{ allowedHosts: [""] }, /is none/],
    [{ allowedOrigins: ["app.example"] }, /allowed origin "app.example" is none/],
    [{ allowedOrigins: ["https://app.example/"] }, /as a browser does/],
    [{ allowedOrigins: ["*"] }, /is none/],
  ])("what cannot be allowed is refused: %j", async (options, message) => {
    const error = await catchFailure(serveHttp(config, options));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toMatch(message);
  });
});

describe("a page that is allowed", () => {
  test("may read the answers in a browser, and is told so before it asks", async () => {
    const { url } = await serveGateway(config, { allowedOrigins: ["https://app.example"] });
    const headers = { origin: "https://app.example" };
    const before = await fetch(url, {
      method: "OPTIONS",
      headers: { ...headers, "access-control-request-method": "POST" },
    });
    expect(before.status).toBe(204);
    expect(before.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(before.headers.get("access-control-allow-headers")).toMatch(/authorization.*mcp-session-id/);
    const answer = await send(url, ping, { headers: { ...headers, ...by("ann").headers } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get("access-control-allow-origin")).toBe("https://app.example");
    expect(answer.headers.get("access-control-expose-headers")).toContain("www-authenticate");
    expect(answer.headers.get("vary")).toBe("origin");
    const refused = await send(url, ping, { headers });
    expect([refused.status, refused.headers.get("access-control-allow-origin")]).toEqual([
      401,
      "https://app.example",
    ]);
  });

  test("is separate from others, which get none of its messages", async () => {
    const { url } = await serveGateway(config, { allowedOrigins: ["https://app.example"] });
    const other = await fetch(url, { method: "OPTIONS", headers: { origin: "https://evil.example" } });
    expect(other.status).toBe(403);
    expect(other.headers.get("access-control-allow-origin")).toBe(null);
    const none = await send(url, ping, by("ann"));
    expect(none.headers.get("access-control-allow-origin")).toBe(null);
  });
});

describe("what a client may send", () => {
  test("headers that are too large are refused", async () => {
    const { url } = await serveGateway(config, { limits: { headerBytes: 4_096 } });
    const answer = await sendRaw(
      url,
      `GET /mcp HTTP/1.1\r\nHost: ${new URL(url).host}\r\nX: ${"x".repeat(8_192)}\r\n\r\n`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 431 |^$/);
  });

  test("more than can be read at once is 503 for the last request, and room is there again afterwards", async () => {
    const { url } = await serveGateway(config, { limits: { bytes: 100_000, bytesAtOnce: 150_000 } });
    const { host, port } = new URL(url);
    const slow = connect(Number(port), "127.0.0.1");
    onTestFinished(() => void slow.destroy());
    slow.on("error", () => {});
    slow.write(
      `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: Bearer tp_ann\r\nContent-Type: application/json\r\n` +
        `Content-Length: 99000\r\n\r\n${" ".repeat(98_000)}`,
    );
    const large = async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const answer = await ask(url, "ping", { large: "x".repeat(90_000) }, by("bob"));
      await answer.text();
      return answer;
    };
    let response = await large();
    const deadline = performance.now() + 20_000;
    // The message of the slow one may not have arrived yet.
    while (response.status === 200 && performance.now() < deadline) response = await large();
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"]);
    expect((await ask(url, "ping", {}, by("bob"))).status).toBe(200);
    slow.destroy();
    while (response.status === 503 && performance.now() < deadline) response = await large();
    expect(response.status).toBe(200);
  });

  test("a connection that nothing more comes on is not kept", async () => {
    const { url } = await serveGateway(config, { limits: { idleMs: 100 } });
    const { host } = new URL(url);
    // Comes back once the connection is closed.
    const answer = await sendRaw(url, `GET /x HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 404 /);
  });
});
