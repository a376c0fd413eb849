import type { LookupAddress } from "node:dns";
import { createServer, type LookupFunction } from "node:net";
import { gzipSync } from "node:zlib";
import { expect, onTestFinished, test } from "vitest";
import { createHttp, type HttpOptions } from "../../../plugins/lib/http/client.ts";
import { parseRetryAfter } from "../../../plugins/openapi/answer.ts";
import { selfSigned } from "../../fixtures/http-certificate.ts";
import { json, restServer } from "../../fixtures/openapi/faulty-rest.ts";
import { catchFailure, getError } from "../../support/failure.ts";
import { createApi, type Opened, openAdapters } from "./_open.ts";

const paths = {
  "/it": { get: { operationId: "read" }, post: { operationId: "write" } },
};

function openAdapter(server: string, options: object = {}): Promise<Opened> {
  return openAdapters({ api: { document: createApi(paths), server, allowPrivate: true, ...options } });
}

async function exchange(url: string, options: Partial<HttpOptions>): Promise<number> {
  const limits = { maxBytes: 1_000, deadlineMs: 10_000 };
  const http = createHttp({ ...limits, addresses: "public", redirects: "web", ...options });
  onTestFinished(() => http.close());
  const headers = { authorization: "Bearer canary" };
  return (await http.send({ method: "GET", url: new URL(url), headers })).status;
}

test("fault 9: a gzip bomb of 100 MB is cut at the size that an unpacked answer may have", async () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000));
  expect(bomb.length).toBeLessThan(110_000);
  const { origin } = await restServer((_, response) => {
    response.writeHead(200, { "content-encoding": "gzip", "content-type": "application/json" }).end(bomb);
  });
  const { run } = await openAdapter(origin, { maxBytes: 1_000_000 });
  const before = process.memoryUsage().rss;
  expect(getError(await run("api:read"))).toMatchObject({
    code: "RESPONSE_TOO_LARGE",
    data: { maxBytes: 1_000_000, sent: true },
  });
  expect(process.memoryUsage().rss - before).toBeLessThan(50_000_000);
});

test("fault 9: an answer packed twice over, unknown or broken is refused, and a proper one is unpacked", async () => {
  const text = Buffer.from('{"a":1}');
  const kinds: Record<string, Buffer> = {
    gzip: gzipSync(text),
    "gzip, gzip": gzipSync(gzipSync(text)),
    "gzip, gzip, gzip, gzip": gzipSync(gzipSync(gzipSync(gzipSync(text)))),
    zstd: text,
    br: text,
  };
  let coding = "gzip";
  const { origin } = await restServer((_, response) => {
    response
      .writeHead(200, { "content-encoding": coding, "content-type": "application/json" })
      .end(kinds[coding]);
  });
  const { run } = await openAdapter(origin);
  for (coding of ["gzip", "gzip, gzip"]) {
    const call = await run("api:read");
    expect(call.ok && call.result.structuredContent).toEqual({ a: 1 });
  }
  for (coding of ["gzip, gzip, gzip, gzip", "zstd", "br"]) {
    expect(getError(await run("api:read"))).toMatchObject({
      code: "UPSTREAM_PROTOCOL",
      data: { sent: true },
    });
  }
});

test("cuts an endless answer, with or without a content length", async () => {
  const { origin } = await restServer((request, response) => {
    if (request.method === "POST")
      return void response.writeHead(200, { "content-length": "2000000" }).end(Buffer.alloc(2_000_000));
    response.writeHead(200, {});
    const timer = setInterval(() => response.write(Buffer.alloc(100_000)), 1);
    response.on("close", () => clearInterval(timer));
  });
  const { run } = await openAdapter(origin, { maxBytes: 1_000_000 });
  for (const tool of ["api:read", "api:write"])
    expect(getError(await run(tool)).code).toBe("RESPONSE_TOO_LARGE");
});

test.each(["127.0.0.1", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "localhost", "[::ffff:127.0.0.1]"])(
  "fault 22: a request to %s is blocked, and the server never sees it",
  async (host) => {
    const { port, received } = await restServer((_, response) => json(response, {}));
    const { run } = await openAdapter(`http://${host}:${port}`, { allowPrivate: false });
    expect(getError(await run("api:read"))).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: false } });
    expect(received).toEqual([]);
  },
);

test.each([
  "169.254.169.254",
  "[::1]",
  "[64:ff9b::7f00:1]",
  "[2002:7f00:1::]",
  "[fe80::1]",
  "0.0.0.0",
  "10.0.0.1",
])("fault 22: a request to %s is blocked before anything is tried", async (host) => {
  const { run } = await openAdapter(`http://${host}`, { allowPrivate: false });
  expect(getError(await run("api:read"))).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: false } });
});

test("fault 22: a redirect to where the secrets of a cloud machine are is blocked, also where private addresses are allowed", async () => {
  const { origin } = await restServer((_, response) => {
    response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end();
  });
  const { run } = await openAdapter(origin);
  expect(getError(await run("api:read"))).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: true } });
});

/** A name that stands for other addresses each time it is looked at. */
function createLookup(...addresses: readonly string[]): LookupFunction {
  return (_, __, callback) => {
    let looks = 0;
    const entry: LookupAddress = {
      get address() {
        return addresses[Math.min(looks++, addresses.length - 1)] as string;
      },
      family: 4,
    };
    callback(null, [entry]);
  };
}

/** A server that only notes who comes, and what they say. */
async function listener(): Promise<{ port: number; visits: () => number; bytes: () => number }> {
  let visits = 0;
  let bytes = 0;
  const server = createServer((socket) => {
    visits++;
    socket.on("data", (chunk) => {
      bytes += chunk.length;
    });
    socket.on("error", () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as { port: number }).port, visits: () => visits, bytes: () => bytes };
}

test("fault 22: a name that leads to a private address is blocked before anything is tried", async () => {
  const { port, visits } = await listener();
  const lookup = createLookup("127.0.0.1");
  const error = await catchFailure(exchange(`http://rebound.example:${port}/`, { lookup }));
  expect(error).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: false } });
  expect(visits()).toBe(0);
});

test.each(["http", "https"])(
  "fault 22: a name that is public when it is looked at and private when it is used is blocked over %s before a byte is sent",
  async (scheme) => {
    const { port, bytes } = await listener();
    const lookup = createLookup("93.184.216.34", "127.0.0.1");
    const error = await catchFailure(exchange(`${scheme}://rebound.example:${port}/`, { lookup }));
    expect(error).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: false } });
    expect(bytes()).toBe(0);
  },
);

test("fault 22: does not send credentials to another origin", async () => {
  process.env["OPENAPI_TEST_SECRET"] = "canary-7f3a";
  const other = await restServer((_, response) => json(response, {}));
  const { origin } = await restServer((_, response) => {
    response.writeHead(302, { location: `${other.origin}/there` }).end();
  });
  const { run } = await openAdapter(origin, {
    auth: [{ type: "bearer", env: "OPENAPI_TEST_SECRET" }],
    headers: { "X-Key": `\${OPENAPI_TEST_SECRET}`, Cookie: `a=\${OPENAPI_TEST_SECRET}` },
  });
  expect((await run("api:read")).ok).toBe(true);
  expect(other.received).toHaveLength(1);
  expect(JSON.stringify(other.received)).not.toContain("canary");
});

test("fault 22: a document is not fetched from a private address, and the other adapters go on", async () => {
  const { origin, received } = await restServer((_, response) => json(response, createApi(paths)));
  const { gateway, reported, tool } = await openAdapters({
    inner: { document: `${origin}/openapi.json` },
    outer: { document: createApi(paths) },
  });
  await gateway.services.adapters?.settled?.();
  expect(received).toEqual([]);
  expect(reported.map(({ code }) => code)).toEqual(["DOCUMENT_BROKEN"]);
  expect(gateway.services.adapters?.get("inner")?.problem).toContain("not on the public internet");
  expect(tool("outer:read").operation?.method).toBe("GET");
});

const now = Date.parse("2026-11-16T00:00:00Z");
test.each([
  ["30", 30],
  ["0", 0],
  ["-5", 0],
  ["1000000000", 86_400],
  ["Mon, 16 Nov 2026 00:01:00 GMT", 60],
  ["Sun, 15 Nov 2026 00:00:00 GMT", 0],
  ["soon", undefined],
  ["", undefined],
  [undefined, undefined],
])("fault 23: Retry-After %j means %j seconds", (header, seconds) => {
  expect(parseRetryAfter(header, now)).toBe(seconds);
});

test("fault 23: an API that was asked too often fails the call with how long to wait, and nothing was done", async () => {
  const { origin, received } = await restServer((_, response) => {
    response.writeHead(429, { "retry-after": "7" }).end("slow down");
  });
  const { run } = await openAdapter(origin);
  const error = getError(await run("api:write"));
  expect(error).toMatchObject({ code: "RATE_LIMITED", data: { status: 429, retry_after: 7, sent: false } });
  expect(error.kind.retry).toBe(true);
  expect(received).toHaveLength(1);
});

test("fault 24: every failure of an API is counted, each with its status, and none is tried again here", async () => {
  let count = 0;
  const { origin, received } = await restServer((_, response) => json(response, {}, count++ % 2 ? 500 : 200));
  const { run } = await openAdapter(origin);
  const statuses: unknown[] = [];
  for (let index = 0; index < 6; index++) {
    const call = await run("api:read");
    statuses.push(call.ok && call.result._meta?.["toolpipe/http-status"]);
  }
  expect(statuses).toEqual([200, 500, 200, 500, 200, 500]);
  expect(received).toHaveLength(6);
});

test("fault 25: a server with an untrusted certificate is not used, and not without encryption either", async () => {
  const { origin, received } = await restServer((_, response) => json(response, {}), selfSigned);
  const { run } = await openAdapter(origin);
  expect(getError(await run("api:write"))).toMatchObject({ code: "TLS_ERROR", data: { sent: false } });
  expect(received).toEqual([]);
  expect(await exchange(`${origin}/`, { addresses: "private", ca: selfSigned.cert })).toBe(200);
});

test("fault 25: a server that does not speak TLS is not spoken to without it", async () => {
  const { port, received } = await restServer((_, response) => json(response, {}));
  const { run } = await openAdapter(`https://127.0.0.1:${port}`);
  expect(getError(await run("api:read"))).toMatchObject({ code: "TLS_ERROR", data: { sent: false } });
  expect(received).toEqual([]);
});

test("fault 25: a redirect from https to http is not followed", async () => {
  const plain = await restServer((_, response) => json(response, {}));
  const { origin } = await restServer((_, response) => {
    response.writeHead(302, { location: plain.origin }).end();
  }, selfSigned);
  const error = await catchFailure(exchange(`${origin}/`, { addresses: "private", ca: selfSigned.cert }));
  expect(error).toMatchObject({ code: "CONNECT_FAILED", data: { sent: true } });
  expect(plain.received).toEqual([]);
});
