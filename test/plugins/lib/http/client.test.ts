import type { RequestListener } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { createHttp, type Fetch, type HttpOptions } from "../../../../plugins/lib/http/client.ts";
import { resolveRedirect } from "../../../../plugins/lib/http/redirect.ts";
import { selfSigned } from "../../../fixtures/http-certificate.ts";
import { closeServers, listen } from "../../../fixtures/http-servers.ts";
import { catchFailure, splitWords } from "../../../support/failure.ts";
import { until } from "../../../support/until.ts";

afterEach(closeServers);

const SECRET = "canary-8d1f";
const fetching = (options: Partial<HttpOptions> = {}): Fetch =>
  createHttp({ maxBytes: 1_000, deadlineMs: 5_000, ...options }).fetch;
const redirect =
  (status: number, location: string): RequestListener =>
  (_, response) =>
    void response.writeHead(status, { location }).end();
const ok: RequestListener = (_, response) => void response.end("ok");

describe("redirects", () => {
  test("one within the origin keeps every header, the method and the body", async () => {
    const bodies: string[] = [];
    const server = await listen((request, response) => {
      if (request.url === "/mcp") return redirect(307, "/moved")(request, response);
      request.on("data", (chunk) => bodies.push(String(chunk)));
      request.on("end", () => response.end("ok"));
    });
    const fetch = fetching({ headers: { "X-Key": SECRET } });
    const response = await fetch(server.url, {
      method: "POST",
      headers: { authorization: `Bearer ${SECRET}` },
      body: "hello",
    });
    expect(await response.text()).toBe("ok");
    expect(bodies).toEqual(["hello"]);
    expect(server.seen[1]).toMatchObject({
      method: "POST",
      path: "/moved",
      headers: { authorization: `Bearer ${SECRET}`, "x-key": SECRET },
    });
  });

  test("one to another origin keeps what the protocol says and nothing that proves who we are", async () => {
    const other = await listen(ok);
    const server = await listen(redirect(308, `${other.origin}/there`));
    const fetch = fetching({ headers: { "X-Key": SECRET, "Mcp-Key": SECRET, Cookie: `a=${SECRET}` } });
    await fetch(server.url, {
      method: "POST",
      headers: { authorization: `Bearer ${SECRET}`, "mcp-protocol-version": "2025-11-25", accept: "text/x" },
      body: "hello",
    });
    expect(JSON.stringify(other.seen)).not.toContain(SECRET);
    expect(other.seen[0]).toMatchObject({
      headers: { "mcp-protocol-version": "2025-11-25", accept: "text/x" },
    });
  });

  test("headers do not come back when a later one returns to the first origin", async () => {
    const other = await listen((request, response) =>
      redirect(307, `${server.origin}/end`)(request, response),
    );
    const server = await listen((request, response) =>
      request.url === "/end" ? response.end("ok") : redirect(307, other.url)(request, response),
    );
    await fetching({ headers: { "X-Key": SECRET } })(server.url);
    expect(server.seen[1]?.path).toBe("/end");
    expect(JSON.stringify(server.seen[1])).not.toContain(SECRET);
  });

  test("the sixth is not followed", async () => {
    const server = await listen(redirect(302, "/again"));
    const error = await catchFailure(fetching()(server.url));
    expect(error).toMatchObject({ code: "CONNECT_FAILED" });
    expect(error.message).toContain("more than 5 times");
    expect(server.seen).toHaveLength(6);
  });

  test("one that would turn a message into a GET is not followed, and its error names the target without its query", async () => {
    const server = await listen(redirect(301, `/moved?key=${SECRET}`));
    const error = await catchFailure(fetching()(server.url, { method: "POST", body: "hello" }));
    expect(error.message).toContain(`${server.origin}/moved,`);
    expect(splitWords(error)).not.toContain(SECRET);
    expect(server.seen).toHaveLength(1);
  });

  test.each(["file:///etc/passwd", "ftp://127.0.0.1/", "http://"])(
    "one to %s is not followed",
    async (location) => {
      const server = await listen(redirect(302, location));
      expect(await catchFailure(fetching()(server.url))).toMatchObject({ code: "CONNECT_FAILED" });
    },
  );

  test.each(["http://169.254.169.254/latest/meta-data", "http://[fe80::1]/"])(
    "one to the link-local address %s is not followed",
    async (location) => {
      const server = await listen(redirect(307, location));
      expect(await catchFailure(fetching()(server.url))).toMatchObject({ code: "SSRF_BLOCKED" });
    },
  );

  test("one from https to http is not followed, and one the other way is", () => {
    expect(() => resolveRedirect(new URL("https://a.test/mcp"), "http://a.test/mcp")).toThrow("from https");
    expect(resolveRedirect(new URL("http://a.test/mcp"), "https://u:p@b.test/x").href).toBe(
      "https://b.test/x",
    );
  });

  test("a caller that follows them itself gets the answer as it is", async () => {
    const server = await listen(redirect(302, "/moved"));
    const response = await fetching()(server.url, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "/moved"]);
  });
});

describe("headers", () => {
  test("those of the request win over those of the server", async () => {
    const server = await listen(ok);
    await fetching({ headers: { Accept: "text/a", "X-Key": "1" } })(server.url, {
      headers: { accept: "text/b" },
    });
    expect(server.seen[0]?.headers).toMatchObject({ accept: "text/b", "x-key": "1" });
  });

  test("a user and password in the URL are sent as a header, and not as part of the URL", async () => {
    const server = await listen(ok);
    await fetching()(server.url.replace("http://", `http://us%20er:${SECRET}@`));
    const expected = Buffer.from(`us er:${SECRET}`).toString("base64");
    expect(server.seen[0]?.headers.authorization).toBe(`Basic ${expected}`);
  });

  test("one that cannot be sent is named without its value", () => {
    const make = (): unknown => fetching({ headers: { "X-Key": `${SECRET}\n${SECRET}` } });
    expect(make).toThrow('The header "X-Key" cannot be sent');
    expect(make).not.toThrow(SECRET);
  });
});

describe("size", () => {
  const json = { "content-type": "application/json" };

  test("an answer that announces too much is not read", async () => {
    const server = await listen(
      (_, response) =>
        void response.writeHead(200, { ...json, "content-length": "1001" }).end("x".repeat(1001)),
    );
    expect(await catchFailure(fetching()(server.url))).toMatchObject({
      code: "RESPONSE_TOO_LARGE",
      data: { maxBytes: 1000 },
    });
  });

  test("an answer that grows too large is cut off", async () => {
    let closed = false;
    const server = await listen((request, response) => {
      request.socket.on("close", () => {
        closed = true;
      });
      response.writeHead(200, json);
      const timer = setInterval(() => response.write("x".repeat(300)), 5);
      response.on("close", () => clearInterval(timer));
    });
    const response = await fetching()(server.url);
    expect(await catchFailure(response.text())).toMatchObject({ code: "RESPONSE_TOO_LARGE" });
    await until(() => closed);
  });

  test("an answer of exactly the size allowed is read", async () => {
    const server = await listen((_, response) => void response.writeHead(200, json).end("x".repeat(1000)));
    expect(await (await fetching()(server.url)).text()).toHaveLength(1000);
  });

  test("compressed bytes count as what they become", async () => {
    const bomb = gzipSync(Buffer.alloc(20_000_000));
    const server = await listen(
      (_, response) => void response.writeHead(200, { ...json, "content-encoding": "gzip" }).end(bomb),
    );
    const fetch = fetching({ maxBytes: 100_000 });
    expect(bomb.length).toBeLessThan(100_000);
    const response = await fetch(server.url);
    expect(await catchFailure(response.text())).toMatchObject({ code: "RESPONSE_TOO_LARGE" });
  });

  test("an event that is too large is left out, and the stream goes on", async () => {
    const server = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(`data: 1\n\ndata: {"id":7,"result":"${"x".repeat(2000)}"}\n\ndata: 2\n\n`);
    });
    const dropped: unknown[] = [];
    const response = await fetching({ onDropped: (id, { body }) => dropped.push([id, body]) })(server.url, {
      method: "POST",
      body: "asked",
    });
    expect(await response.text()).toBe("data: 1\n\ndata: 2\n\n");
    expect(dropped).toEqual([
      [undefined, "asked"],
      [7, "asked"],
    ]);
  });
});

describe("time", () => {
  const trickle =
    (type: string): RequestListener =>
    (_, response) => {
      response.writeHead(200, { "content-type": type });
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    };

  test("an answer that trickles in is ended by the deadline", async () => {
    const server = await listen(trickle("application/json"));
    const start = performance.now();
    const response = await fetching({ deadlineMs: 500 })(server.url);
    expect(await catchFailure(response.text())).toMatchObject({ code: "TIMEOUT" });
    const took = performance.now() - start;
    expect(took).toBeGreaterThan(450);
    expect(took).toBeLessThan(10_000);
  });

  test("a server that never answers is ended by the deadline", async () => {
    const server = await listen(() => {});
    expect(await catchFailure(fetching({ deadlineMs: 200 })(server.url))).toMatchObject({ code: "TIMEOUT" });
  });

  test("a stream of events is not ended by the deadline, but by its reader", async () => {
    let closed = false;
    const server = await listen((request, response) => {
      response.on("close", () => {
        closed = true;
      });
      response.writeHead(200, { "content-type": "text/event-stream" });
      const timer = setInterval(() => response.write("data: 1\n\n"), 20);
      response.on("close", () => clearInterval(timer));
      void request;
    });
    const response = await fetching({ deadlineMs: 100 })(server.url);
    const reader = response.body?.getReader();
    const start = performance.now();
    while (performance.now() - start < 300) expect((await reader?.read())?.done).toBe(false);
    await reader?.cancel();
    await until(() => closed);
  });

  test("an aborted request ends with the reason it was aborted for", async () => {
    const server = await listen(() => {});
    const abort = new AbortController();
    const answer = fetching()(server.url, { signal: abort.signal });
    await until(() => server.seen.length === 1);
    abort.abort(new Error("enough"));
    await expect(answer).rejects.toThrow("enough");
  });
});

describe("failures", () => {
  test("a refused connection names the host and nothing else", async () => {
    const server = await listen(ok);
    await server.close();
    const error = await catchFailure(fetching()(`${server.url}/path?key=${SECRET}`));
    expect(error).toMatchObject({ code: "CONNECT_FAILED", kind: { retry: true } });
    expect(error.message).toBe(
      `The server at ${new URL(server.url).host} cannot be reached: the connection was refused.`,
    );
    expect(splitWords(error)).not.toContain(SECRET);
  });

  test("an unknown name is said to be one", async () => {
    const error = await catchFailure(fetching()(`http://does-not-exist.invalid/?key=${SECRET}`));
    expect(error).toMatchObject({ code: "CONNECT_FAILED" });
    expect(error.message).toBe(
      "The server at does-not-exist.invalid cannot be reached: its name is not known.",
    );
    expect(splitWords(error)).not.toContain(SECRET);
  });

  test("a connection that ends before the answer is not one that was never made", async () => {
    const server = await listen((request) => request.socket.destroy());
    expect(await catchFailure(fetching()(`${server.url}?key=${SECRET}`))).toMatchObject({
      code: "UPSTREAM_CLOSED",
    });
  });

  test("a connection that ends within the answer fails the same way", async () => {
    const server = await listen((request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "100" });
      response.write("{");
      setTimeout(() => request.socket.destroy(), 20);
    });
    const response = await fetching()(server.url);
    expect(await catchFailure(response.text())).toMatchObject({ code: "UPSTREAM_CLOSED" });
  });

  test("an untrusted certificate is a TLS_ERROR, and nothing is sent", async () => {
    const server = await listen(ok, createSecureServer(selfSigned) as never);
    const error = await catchFailure(
      fetching()(`${server.origin.replace("http:", "https:")}/?key=${SECRET}`),
    );
    expect(error).toMatchObject({ code: "TLS_ERROR", kind: { retry: false } });
    expect(splitWords(error)).not.toContain(SECRET);
    expect(server.seen).toEqual([]);
  });

  test("https to a server that speaks plain http is a TLS_ERROR", async () => {
    const server = await listen(ok);
    const error = await catchFailure(fetching()(server.url.replace("http:", "https:")));
    expect(error).toMatchObject({ code: "TLS_ERROR" });
  });
});
