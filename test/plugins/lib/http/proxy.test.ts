import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer as createSecureServer } from "node:https";
import { type AddressInfo, createServer, type LookupFunction } from "node:net";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createHttp, type Http, type HttpOptions } from "../../../../plugins/lib/http/client.ts";
import { readProxySettings } from "../../../../plugins/lib/http/proxy.ts";
import { forToolsTest } from "../../../fixtures/http-certificate.ts";
import { closeServers, type Listening, listen } from "../../../fixtures/http-servers.ts";
import { catchFailure } from "../../../support/failure.ts";
import { temporaryFolder } from "../../../support/temporary-folder.ts";

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

const VARIABLES = ["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"];
const script = fileURLToPath(new URL("../../../fixtures/http-proxy.mjs", import.meta.url));

beforeEach(async () => {
  for (const name of VARIABLES) for (const one of [name, name.toLowerCase()]) vi.stubEnv(one, undefined);
  const folder = await temporaryFolder({ "ca.pem": forToolsTest.cert });
  vi.stubEnv("SSL_CERT_FILE", join(folder, "ca.pem"));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await closeServers();
});

/** Starts a proxy whose requests all end at one server, whatever name they are for. */
async function startProxy(target: Listening, ...flags: string[]): Promise<{ host: string; asked: Asked[] }> {
  const child = spawn(process.execPath, [script, new URL(target.url).port, ...flags], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill());
  const lines = createInterface(child.stdout);
  const [port] = await once(lines, "line");
  const asked: Asked[] = [];
  lines.on("line", (line) => asked.push(JSON.parse(line)));
  return { host: `127.0.0.1:${port}`, asked };
}

function http(options: Partial<HttpOptions> = {}): Http {
  const client = createHttp({ maxBytes: 10_000, deadlineMs: 20_000, ...options });
  onTestFinished(() => client.close());
  return client;
}

const get = (client: Http, url: string): ReturnType<Http["send"]> =>
  client.send({ method: "GET", url: new URL(url), headers: { authorization: "Bearer canary" } });
const answering =
  (...addresses: string[]): LookupFunction =>
  (_, __, callback) =>
    callback(
      null,
      addresses.map((address) => ({ address, family: 4 })),
    );
const unknown: LookupFunction = (_, __, callback) =>
  callback(Object.assign(new Error("ENOTFOUND"), { code: "ENOTFOUND" }), "");
const plain = (): Promise<Listening> => listen((_, response) => void response.end("plain"));
const secure = (): Promise<Listening> =>
  listen((_, response) => void response.end("secure"), createSecureServer(forToolsTest) as never);

describe("a proxy of the environment", () => {
  test("forwards plain http, and is given the password of its URL", async () => {
    const target = await plain();
    const proxy = await startProxy(target, "--auth", "us er:canary-proxy");
    vi.stubEnv("HTTP_PROXY", `http://us%20er:canary-proxy@${proxy.host}`);
    const response = await http().fetch("http://tools.test/a?b=c", { method: "POST", body: "hello" });
    expect([response.status, await response.text()]).toEqual([200, "plain"]);
    expect(proxy.asked).toMatchObject([{ method: "POST", url: "http://tools.test/a?b=c" }]);
    expect(target.seen[0]).toMatchObject({ method: "POST", path: "/a?b=c", headers: { host: "tools.test" } });
  });

  test("tunnels https, and sees nothing of it; SSL_CERT_FILE names who vouches for the server", async () => {
    const target = await secure();
    const proxy = await startProxy(target);
    vi.stubEnv("HTTPS_PROXY", `http://${proxy.host}`);
    const { status, body } = await get(http(), "https://tools.test/x");
    expect([status, String(body)]).toEqual([200, "secure"]);
    expect(proxy.asked).toMatchObject([{ method: "CONNECT", url: "tools.test:443" }]);
    expect(JSON.stringify(proxy.asked)).not.toContain("canary");
    expect(target.seen[0]?.headers.authorization).toBe("Bearer canary");
  });

  test("passes a stream of events on as it comes", async () => {
    let next = (): void => {};
    const target = await listen((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\n");
      next = () => response.end("data: 2\n\n");
    });
    const proxy = await startProxy(target);
    vi.stubEnv("http_proxy", proxy.host);
    const reader = (await http().fetch("http://tools.test/")).body?.getReader();
    expect(String(Buffer.from((await reader?.read())?.value ?? []))).toBe("data: 1\n\n");
    next();
    expect(String(Buffer.from((await reader?.read())?.value ?? []))).toBe("data: 2\n\n");
    expect((await reader?.read())?.done).toBe(true);
  });

  test.each(["http", "https"])("that wants a password is told of as such over %s", async (scheme) => {
    const proxy = await startProxy(await plain(), "--auth", "user:password");
    vi.stubEnv("HTTP_PROXY", `http://${proxy.host}`);
    const error = await catchFailure(get(http(), `${scheme}://tools.test/?key=canary`));
    expect(error).toMatchObject({ code: "CONNECT_FAILED", data: { sent: false } });
    expect(error.message).toBe(
      `The proxy ${proxy.host} refuses to connect to tools.test (HTTP 407). Put a user and password into the URL of the proxy.`,
    );
  });

  test("that refuses is told of as such, and nothing was sent", async () => {
    const target = await secure();
    const proxy = await startProxy(target, "--refuse");
    vi.stubEnv("HTTPS_PROXY", `http://${proxy.host}`);
    const error = await catchFailure(get(http(), "https://tools.test/"));
    expect(error).toMatchObject({ code: "CONNECT_FAILED", data: { sent: false } });
    expect(error.message).toContain(`The proxy ${proxy.host} refuses to connect to tools.test (HTTP 403)`);
    expect(target.seen).toEqual([]);
  });

  test("that is not there is named", async () => {
    const gone = await plain();
    await gone.close();
    vi.stubEnv("HTTP_PROXY", gone.origin);
    const error = await catchFailure(get(http(), "https://tools.test/"));
    expect(error).toMatchObject({ code: "CONNECT_FAILED", data: { sent: false } });
    expect(error.message).toContain(`The environment names a proxy, ${new URL(gone.origin).host}.`);
  });

  test("is not asked for this machine, nor for what NO_PROXY names", async () => {
    const target = await plain();
    const proxy = await startProxy(target);
    vi.stubEnv("HTTP_PROXY", `http://${proxy.host}`);
    vi.stubEnv("NO_PROXY", "other.test, .tools.test");
    const { port } = new URL(target.url);
    const client = http({ lookup: answering("127.0.0.1") });
    for (const host of ["127.0.0.1", "localhost", "api.tools.test"])
      await get(client, `http://${host}:${port}/`);
    expect([target.seen.length, proxy.asked.length]).toEqual([3, 0]);
    await get(client, `http://elsewhere.test:${port}/`);
    expect([target.seen.length, proxy.asked.length]).toEqual([4, 1]);
  });
});

describe("addresses behind a proxy", () => {
  test.each([
    ["http://10.0.0.1/", "public"],
    ["https://192.168.1.1/", "public"],
    ["http://[fd00::1]/", "public"],
    ["http://169.254.169.254/latest/meta-data", "private"],
  ] as const)("%s is refused, and the proxy is not asked", async (url, addresses) => {
    const proxy = await startProxy(await plain());
    vi.stubEnv("HTTP_PROXY", `http://${proxy.host}`);
    const error = await catchFailure(get(http({ addresses }), url));
    expect(error).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: false } });
    expect(proxy.asked).toEqual([]);
  });

  test("a name that leads to a private address is refused, also beside a public one", async () => {
    const proxy = await startProxy(await plain());
    vi.stubEnv("HTTP_PROXY", `http://${proxy.host}`);
    for (const found of [["10.1.2.3"], ["93.184.216.34", "127.0.0.1"]]) {
      const client = http({ addresses: "public", lookup: answering(...found) });
      const error = await catchFailure(get(client, "https://tools.test/"));
      expect(error).toMatchObject({ code: "SSRF_BLOCKED", data: { host: "tools.test", sent: false } });
    }
    expect(proxy.asked).toEqual([]);
  });

  test("a name that is public, or that cannot be resolved here, is left to the proxy, whose own address is private", async () => {
    const proxy = await startProxy(await plain());
    vi.stubEnv("HTTP_PROXY", `http://${proxy.host}`);
    const silent: LookupFunction = () => {};
    for (const lookup of [answering("93.184.216.34"), unknown, silent]) {
      const client = http({ addresses: "public", lookup });
      expect((await get(client, "http://tools.test/")).status).toBe(200);
      // A resolver that is silent is waited for once.
      const start = performance.now();
      await get(client, "http://tools.test/");
      expect(performance.now() - start).toBeLessThan(900);
    }
    expect(proxy.asked).toHaveLength(6);
  });

  test("a redirect to a private address is refused", async () => {
    const target = await listen(
      (_, response) => void response.writeHead(302, { location: "http://10.0.0.1/" }).end(),
    );
    const proxy = await startProxy(target);
    vi.stubEnv("HTTP_PROXY", `http://${proxy.host}`);
    const client = http({ addresses: "public", redirects: "web", lookup: unknown });
    const error = await catchFailure(get(client, "http://tools.test/"));
    expect(error).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: true } });
    expect(proxy.asked).toHaveLength(1);
  });

  test("a server that NO_PROXY names is checked as without a proxy", async () => {
    const target = await plain();
    vi.stubEnv("HTTP_PROXY", "http://127.0.0.1:1");
    vi.stubEnv("NO_PROXY", "*");
    const client = http({ addresses: "public", lookup: answering("127.0.0.1") });
    const error = await catchFailure(get(client, target.url.replace("127.0.0.1", "tools.test")));
    expect(error).toMatchObject({ code: "SSRF_BLOCKED", data: { sent: false } });
    expect(target.seen).toEqual([]);
  });
});

describe("the variables", () => {
  const loopback = "localhost,127.0.0.1,[::1]";
  test.each([
    [{}, undefined],
    [{ HTTP_PROXY: "" }, undefined],
    [{ HTTP_PROXY: "http://a:1", http_proxy: "" }, undefined],
    [{ HTTP_PROXY: "http://a:1" }, { httpProxy: "http://a:1", noProxy: `,${loopback}` }],
    [
      { HTTP_PROXY: "http://a:1", http_proxy: "b:2" },
      { httpProxy: "http://b:2", noProxy: `,${loopback}` },
    ],
    [
      { https_proxy: "c:3", no_proxy: "x" },
      { httpsProxy: "http://c:3", noProxy: `x,${loopback}` },
    ],
    [
      { HTTPS_PROXY: "c:3", NO_PROXY: "*" },
      { httpsProxy: "http://c:3", noProxy: "*" },
    ],
  ])("%j mean %j", (env, settings) => {
    expect(readProxySettings(env)).toEqual(settings);
  });

  test("that name no proxy are refused without being repeated", async () => {
    vi.stubEnv("HTTPS_PROXY", "ftp://user:canary@proxy");
    const error = await catchFailure(get(http(), "https://tools.test/"));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toContain("HTTPS_PROXY");
    expect(error.message).not.toContain("canary");
  });
});

test("a proxy that closes each tunnel fails the request, and is not asked over and over", async () => {
  let tunnels = 0;
  const proxy = createServer((socket) => {
    socket.once("data", () => {
      tunnels++;
      socket.destroy();
    });
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => void proxy.close());
  const { port } = proxy.address() as AddressInfo;
  vi.stubEnv("HTTPS_PROXY", `http://127.0.0.1:${port}`);
  const client = http({ addresses: "public", lookup: answering("93.184.216.34") });
  const error = await catchFailure(get(client, "https://registry.example/"));
  expect(error.code).toBe("UPSTREAM_CLOSED");
  expect(tunnels).toBeLessThan(5);
});
