import type { RequestListener } from "node:http";
import { afterEach, describe, expect, test } from "vitest";
import type { HttpConnection } from "../../../../core/services/sources.ts";
import { faultyServer } from "../../../fixtures/http-faulty.ts";
import { closeServers, legacySse, legacyStreamable, listen, modern } from "../../../fixtures/http-servers.ts";
import { catchFailure, splitWords } from "../../../support/failure.ts";
import { until } from "../../../support/until.ts";
import { connected, readText, remote } from "../_http.ts";

afterEach(closeServers);

const answering =
  (status: number, headers: Record<string, string> = {}, body = ""): RequestListener =>
  (_, response) =>
    void response.writeHead(status, headers).end(body);

describe("the way a server is spoken to", () => {
  test("is Streamable HTTP, in the newest revision that both know", async () => {
    const server = await modern();
    await using upstream = await connected(server.url);
    expect(upstream.prior).toMatchObject({
      transport: "http",
      protocol: "modern",
      protocolVersion: "2026-07-28",
    });
    expect(upstream.info).toMatchObject({ name: "modern", version: "2.0.0", protocolVersion: "2026-07-28" });
  });

  test("is SSE where the first message is answered as by a server of that kind", async () => {
    const server = await legacySse();
    await using upstream = await connected(server.url);
    expect(upstream.prior).toMatchObject({ transport: "sse", protocol: "legacy" });
    expect(server.seen[0]?.method).toBe("POST");
  });

  test("is kept for the next connection", async () => {
    const server = await legacySse();
    const first = await connected(server.url);
    await first.close();
    server.seen.length = 0;
    await using upstream = await connected(server.url, { prior: first.prior });
    expect(server.seen[0]?.method).toBe("GET");
    expect(upstream.prior).toEqual(first.prior);
  });

  test("is found again if the cached one is no longer true", async () => {
    const old = await legacySse();
    const { prior, close } = await connected(old.url);
    await close();
    await using upstream = await connected((await legacyStreamable()).url, { prior });
    expect(upstream.prior).toMatchObject({ transport: "http" });
  });

  test("is not guessed where a server has a fault of its own", async () => {
    const server = await listen(answering(500));
    expect(await catchFailure(connected(server.url))).toMatchObject({
      code: "UPSTREAM_ERROR",
      data: { status: 500 },
    });
    expect(server.seen.map(({ method }) => method)).not.toContain("GET");
  });

  test("of a server that speaks neither is told by the first answer", async () => {
    const server = await listen(answering(404));
    const error = await catchFailure(connected(server.url));
    expect(error.message).toBe('The server "remote" answered HTTP 404.');
    expect(error).toMatchObject({ code: "UPSTREAM_ERROR", data: { status: 404 } });
  });

  test("is SSE only, if the definition sets it", async () => {
    const server = await listen(answering(404));
    await catchFailure(connected(remote(server.url, { type: "sse" })));
    expect(server.seen.map(({ method }) => method)).toEqual(["GET"]);
  });
});

describe("a session", () => {
  test("is named in every message, and ended when the connection is closed", async () => {
    const server = await legacyStreamable();
    const upstream = await connected(server.url);
    await upstream.call("echo", { text: "hello" });
    const [id] = server.sessions.keys();
    expect(server.seen.at(-1)?.headers["mcp-session-id"]).toBe(id);
    await upstream.close();
    expect(server.sessions.size).toBe(0);
    expect(server.seen.at(-1)?.method).toBe("DELETE");
  });

  test("that the server has forgotten ends the connection, so that another can be opened", async () => {
    const server = await legacyStreamable();
    const reasons: string[] = [];
    await using upstream = await connected(server.url, {
      events: { onClosed: (reason) => reasons.push(reason) },
    });
    server.forget();
    expect(await catchFailure(upstream.call("echo", { text: "hello" }))).toMatchObject({
      code: "UPSTREAM_CLOSED",
      data: { sent: false },
    });
    await expect.poll(() => reasons).toEqual(["the server no longer knows the session"]);
    await using again = await connected(server.url);
    expect(readText(await again.call("echo", { text: "again" }))).toBe("again");
  });

  test("that a server calls unknown with 400 is forgotten as well", async () => {
    let forgotten = false;
    const server = await legacyStreamable({
      guard(_, response) {
        if (forgotten) response.writeHead(400).end("Bad Request: No valid session ID provided");
        return !forgotten;
      },
    });
    await using upstream = await connected(server.url);
    forgotten = true;
    expect(await catchFailure(upstream.call("echo", {}))).toMatchObject({ code: "UPSTREAM_CLOSED" });
  });

  test("outlives an answer of 400 that is about something else", async () => {
    let bad = false;
    const server = await legacyStreamable({
      guard(request, response) {
        const refuse = bad && request.method === "POST";
        if (refuse) response.writeHead(400).end("Something is wrong.");
        return !refuse;
      },
    });
    await using upstream = await connected(server.url);
    bad = true;
    expect(await catchFailure(upstream.call("echo", {}))).toMatchObject({
      code: "UPSTREAM_ERROR",
      data: { status: 400 },
    });
    bad = false;
    expect(readText(await upstream.call("echo", { text: "on" }))).toBe("on");
  });

  test("does not hold up closing, whatever the server makes of it", async () => {
    const server = await legacyStreamable({ guard: (request) => request.method !== "DELETE" });
    const upstream = await connected(server.url);
    const start = performance.now();
    await upstream.close();
    expect(performance.now() - start).toBeLessThan(10_000);
  });
});

describe("the one stream of an older server", () => {
  test("that breaks ends the connection, and the pending calls at once", async () => {
    const server = await legacySse();
    const reasons: string[] = [];
    await using upstream = await connected(server.url, {
      events: { onClosed: (reason) => reasons.push(reason) },
    });
    const call = catchFailure(upstream.call("wait", {}));
    const posted = (): number => server.seen.filter(({ path }) => path.startsWith("/messages")).length;
    // The handshake takes two.
    await until(() => posted() === 3);
    server.drop();
    expect(await call).toMatchObject({ code: "UPSTREAM_CLOSED" });
    expect(reasons).toEqual(["the server has ended the stream"]);
  });
});

describe("a JSON answer", () => {
  test("instead of a stream is accepted", async () => {
    await using upstream = await connected((await legacyStreamable({ json: true })).url);
    expect((await upstream.list()).tools.map((tool) => tool.name)).toContain("echo");
    expect(readText(await upstream.call("echo", { text: "hello" }))).toBe("hello");
  });
});

describe("the credentials of a definition", () => {
  test("goes along with every request of every kind", async () => {
    for (const start of [legacyStreamable, legacySse, modern]) {
      const server = await start();
      const definition = remote(server.url, { headers: { "X-Key": "k" }, bearerEnv: "TOKEN" });
      const upstream = await connected(definition, { env: { TOKEN: "t" } });
      await upstream.call("echo", { text: "hello" });
      await upstream.close();
      for (const { headers } of server.seen)
        expect(headers).toMatchObject({ "x-key": "k", authorization: "Bearer t" });
    }
  });

  test("must be there: a variable that is not set is named, and nothing is sent", async () => {
    const server = await modern();
    const error = await catchFailure(connected(remote(server.url, { bearerEnv: "TOKEN" }), { env: {} }));
    expect(error).toMatchObject({ code: "MISSING_VARIABLE", data: { variable: "TOKEN" } });
    expect(server.seen).toEqual([]);
  });

  test("and is not accepted is not a matter of logging in", async () => {
    const server = await listen(answering(401, { "www-authenticate": "Bearer" }));
    const definition = remote(server.url, { headers: { Authorization: "Bearer wrong" } });
    const error = await catchFailure(connected(definition));
    expect(error).toMatchObject({ code: "NEEDS_AUTH" });
    expect(error.message).toContain("does not accept the token or password it is configured with");
    expect(error.message).not.toContain("toolpipe login");
  });

  test.each(["http", "sse"] as const)("and is missing is said with what to run (%s)", async (type) => {
    const server = await listen(answering(401));
    const error = await catchFailure(connected(remote(server.url, { type })));
    expect(error).toMatchObject({
      code: "NEEDS_AUTH",
      data: { server: "remote", login: "toolpipe login remote" },
    });
    expect(error.message).toBe('The server "remote" asks for a login. Run "toolpipe login remote".');
  });
});

describe("an answer that is not one", () => {
  test.each([
    [403, {}, "UPSTREAM_ERROR", { status: 403 }],
    [
      403,
      { "www-authenticate": 'Bearer error="insufficient_scope", scope="a b"' },
      "NEEDS_AUTH",
      { scope: "a b" },
    ],
    [403, { "www-authenticate": "Bearer scope=a" }, "NEEDS_AUTH", { scope: "a" }],
    [403, { "www-authenticate": 'Bearer scope="\u00e9vil"' }, "UPSTREAM_ERROR", { status: 403 }],
    [429, { "retry-after": "7" }, "UPSTREAM_ERROR", { status: 429, retryable: true, retryAfterMs: 7_000 }],
    [429, { "retry-after": "99999999999" }, "UPSTREAM_ERROR", { retryAfterMs: 86_400_000 }],
    [503, { "retry-after": "-5" }, "UPSTREAM_ERROR", { status: 503, retryable: true }],
    [503, { "retry-after": "Fri, 01 Jan 2021 00:00:00 GMT" }, "UPSTREAM_ERROR", { retryAfterMs: 0 }],
    [500, {}, "UPSTREAM_ERROR", { status: 500, retryable: false }],
    [418, {}, "UPSTREAM_ERROR", { status: 418 }],
  ])("%i %j is %s", async (status, headers, code, data) => {
    const server = await faultyServer({
      onCall: (_, response) => void response.writeHead(status, headers as Record<string, string>).end(),
    });
    await using upstream = await connected(server.url);
    const error = await catchFailure(upstream.call("odd", {}));
    expect(error).toMatchObject({ code, data });
    expect(error.message).toContain("scope" in data ? `the scope "${data.scope}"` : `HTTP ${status}`);
    expect(readText(await upstream.call("echo", { text: "still here" }))).toBe("still here");
  });
});

describe("a server that cannot be connected to", () => {
  test("because no server listens is CONNECT_FAILED with its host", async () => {
    const server = await listen(answering(200));
    await server.close();
    const error = await catchFailure(connected(server.url));
    expect(error).toMatchObject({ code: "CONNECT_FAILED" });
    expect(error.message).toContain(
      `${new URL(server.url).host} cannot be reached: the connection was refused`,
    );
  });

  test.each(["http", "sse"] as const)("because it never answers is abandoned in time (%s)", async (type) => {
    const server = await listen(() => {});
    const start = performance.now();
    const error = await catchFailure(connected(remote(server.url, { type }), { startTimeoutMs: 400 }));
    expect(error.code).toMatch(/^CONNECT_/);
    expect(performance.now() - start).toBeLessThan(10_000);
  });

  test.each(["not a url", "ftp://canary.test/", "file:///canary"])(
    "because its URL is %j is named, and the URL is not",
    async (url) => {
      const error = await catchFailure(connected(url));
      expect(error).toMatchObject({ code: "CONFIG_INVALID" });
      expect(error.message).not.toContain(url);
    },
  );

  test("because the caller gave up is CANCELLED", async () => {
    const server = await listen(() => {});
    const abort = new AbortController();
    const opening = catchFailure(connected(server.url, { signal: abort.signal }));
    await until(() => server.seen.length > 0);
    abort.abort();
    expect(await opening).toMatchObject({ code: "CANCELLED" });
  });
});

describe("a secret", () => {
  const SECRET = "canary-5b3a";
  const definition = (url: string, type: HttpConnection["type"]): HttpConnection =>
    remote(`${url.replace("http://", `http://user:${SECRET}@`)}?key=${SECRET}`, {
      type,
      headers: { "X-Key": SECRET },
      bearerEnv: "TOKEN",
    });

  /** Echoes the request body, with this status. */
  const parrot =
    (status: number, type: string): RequestListener =>
    (request, response) => {
      const told = JSON.stringify([request.url, request.headers]);
      response.writeHead(status, {
        "content-type": type,
        location: `/?key=${SECRET}`,
        "www-authenticate": `Bearer error="${SECRET}", resource_metadata="http://127.0.0.1:1/${SECRET}"`,
      });
      response.end(type === "text/event-stream" ? `data: ${told}\n\n` : told);
    };

  const statuses = [202, 204, 301, 302, 307, 401, 403, 404, 405, 418, 429, 503].map(
    (status) => [status, "application/json"] as const,
  );
  const types = ["application/json", "text/event-stream", "text/html"];
  const answers = [
    ...statuses,
    ...types.flatMap((type) => [200, 400, 500].map((status) => [status, type] as const)),
  ];
  test.each(answers)("is in no error about an answer of %i in %s", async (status, type) => {
    const server = await listen(parrot(status, type));
    for (const kind of ["http", "sse"] as const) {
      const options = { env: { TOKEN: SECRET }, startTimeoutMs: 150 };
      const error = await catchFailure(connected(definition(server.url, kind), options));
      expect(error.message + JSON.stringify(error)).not.toContain(SECRET);
    }
  });

  test("is in no error about a server that is not there, not even for the log", async () => {
    const server = await listen(answering(200));
    await server.close();
    for (const kind of ["http", "sse"] as const) {
      const error = await catchFailure(connected(definition(server.url, kind), { env: { TOKEN: SECRET } }));
      expect(error).toMatchObject({ code: "CONNECT_FAILED" });
      expect(splitWords(error)).not.toContain(SECRET);
    }
  });

  test("that cannot be sent is in no error either", async () => {
    const server = await modern();
    const error = await catchFailure(
      connected(remote(server.url, { bearerEnv: "TOKEN" }), { env: { TOKEN: `${SECRET}\n${SECRET}` } }),
    );
    expect(error).toMatchObject({ code: "CONFIG_INVALID" });
    expect(splitWords(error)).not.toContain(SECRET);
  });
});
