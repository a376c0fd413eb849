import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { health } from "../../../plugins/health.ts";
import type { HttpServer } from "../../../plugins/serve/mod.ts";
import { ask, askModern, beginSession, preset, serveGateway } from "../../plugins/serve/_http.ts";
import { by, onlyPeople } from "../_people.ts";

const limits = { connections: 40, connectionsPerAddress: 30, streamsPerCaller: 10, slowBodiesPerCaller: 5 };

function serve(): Promise<HttpServer> {
  return serveGateway({ preset: preset([]), plugins: [health(), onlyPeople] }, { limits });
}

const getHealth = async (url: string): Promise<number> =>
  (await fetch(new URL("/healthz", url), { headers: { connection: "close" } })).status;

test("fault 75: a caller has so many streams and no more, and all others go on", async () => {
  const { url } = await serve();
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  const open = async (kind: number): Promise<number> => {
    const sending = { signal: leave.signal, ...by("ann") };
    if (kind % 2 === 0) {
      const params = { notifications: { toolsListChanged: true } };
      return (await askModern(url, "subscriptions/listen", params, sending)).status;
    }
    // Each of them is a session of its own.
    const headers = {
      accept: "text/event-stream",
      ...by("ann").headers,
      ...(await beginSession(url, {}, by("ann"))),
    };
    return (await fetch(url, { headers, signal: leave.signal })).status;
  };
  const statuses: number[] = [];
  for (let kind = 0; kind < 20; kind++) statuses.push(await open(kind));
  expect(statuses.filter((status) => status === 200)).toHaveLength(limits.streamsPerCaller);
  expect(statuses.filter((status) => status === 429)).toHaveLength(20 - limits.streamsPerCaller);
  expect((await ask(url, "tools/list", {}, by("ann"))).status).toBe(200);
  expect(
    (
      await askModern(
        url,
        "subscriptions/listen",
        { notifications: { toolsListChanged: true } },
        {
          signal: leave.signal,
          ...by("bob"),
        },
      )
    ).status,
  ).toBe(200);
  expect(await getHealth(url)).toBe(200);
});

/** Opens a connection that has begun to send a message. */
async function begin(url: string, actor: string): Promise<Socket> {
  const { host, hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  socket.resume();
  await once(socket, "connect");
  const { authorization } = by(actor).headers;
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: ${host}\r\nAuthorization: ${authorization}\r\nContent-Type: application/json\r\n` +
      'Accept: application/json\r\nContent-Length: 1000\r\n\r\n{"jsonrpc"',
  );
  return socket;
}

test("fault 75: messages that arrive slowly keep no one out, and of one caller few are waited for", async () => {
  const { url } = await serve();
  const sockets = await Promise.all(Array.from({ length: 60 }, () => begin(url, "ann")));
  // There is no connection left, and health has its own.
  expect(await getHealth(url)).toBe(200);
  const list = async (): Promise<number> => (await ask(url, "tools/list", {}, by("bob"))).status;
  await expect.poll(list, { timeout: 20_000 }).toBe(200);
  const living = (): number => sockets.filter((socket) => !socket.closed).length;
  await expect.poll(living, { timeout: 20_000 }).toBe(limits.slowBodiesPerCaller);
});

// Elsewhere there is only one address of this machine that can be counted on.
test.skipIf(process.platform !== "linux")(
  "fault 75: the connections of one address leave room for those of others",
  async () => {
    const { url } = await serve();
    const { port, host } = new URL(url);
    const silent = Array.from({ length: 200 }, () => connect(Number(port), "127.0.0.1"));
    onTestFinished(() => silent.forEach((socket) => void socket.destroy()));
    for (const socket of silent) socket.on("error", () => {});
    await Promise.all(silent.map((socket) => once(socket, "connect")));
    const other = connect({ port: Number(port), host: "127.0.0.1", localAddress: "127.0.0.2" });
    onTestFinished(() => void other.destroy());
    other.write(`GET /mcp HTTP/1.1\r\nHost: ${host}\r\nAccept: application/json\r\n\r\n`);
    const [chunk] = (await once(other, "data")) as [Buffer];
    // It is answered as anyone without a token.
    expect(String(chunk)).toMatch(/^HTTP\/1.1 401 /);
    expect(await getHealth(url)).toBe(200);
  },
);
