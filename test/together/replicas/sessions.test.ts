import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { definePreset, type MetaTool, textResult } from "../../../core/mod.ts";
import { replicas } from "../../../plugins/replicas/mod.ts";
import type { HttpServer } from "../../../plugins/serve/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import {
  ask,
  askModern,
  modernMeta,
  readAnswer,
  readMessages,
  serveGateway,
  streamMessages,
  until,
  waiting,
} from "../../plugins/serve/_http.ts";
import { form } from "../../support/asker.ts";
import { hasRedis, startRedis, type TestRedis } from "../../support/redis.ts";
import { by, onlyPeople } from "../_people.ts";

const SESSION = "mcp-session-id";
const asked = { protocolVersion: "2025-06-18", capabilities: { elicitation: {} } };

describe.skipIf(!hasRedis)("a session of a legacy client (needs Redis)", () => {
  let redis: TestRedis;
  let admin: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.url);
  });
  afterAll(async () => {
    admin?.disconnect();
    await redis?.stop();
  });

  /** Serves a replica whose one tool says which one it is. */
  function replica(name: string, tools: readonly MetaTool[] = [], url = redis.url): Promise<HttpServer> {
    const which: MetaTool = {
      name: "which",
      inputSchema: { type: "object" },
      run: () => textResult(name),
    };
    const plugins = [state({ state: url, timeoutMs: 10_000 }), replicas()];
    return serveGateway({ preset: definePreset({ name: "test", plugins, tools: [which, ...tools] }) });
  }
  const begin = async ({ url }: HttpServer): Promise<Record<string, string>> => {
    const response = await ask(url, "initialize", asked);
    await readMessages(response);
    return { [SESSION]: String(response.headers.get(SESSION)) };
  };
  const which = async ({ url }: HttpServer, headers: Record<string, string>): Promise<unknown> =>
    (
      (await readAnswer(ask(url, "tools/call", { name: "which" }, { headers })))["result"] as {
        content: unknown[];
      }
    ).content;

  test("is answered where it began, whichever replica is asked", async () => {
    const [one, other] = [await replica("one"), await replica("other")];
    const headers = await begin(one);
    for (const asked of [one, other, other])
      expect(await which(asked, headers)).toEqual([{ type: "text", text: "one" }]);
    // The modern protocol has no sessions: any replica answers.
    const modern = await readAnswer(askModern(other.url, "tools/call", { name: "which" }, { headers }));
    expect(modern).toMatchObject({ result: { content: [{ text: "other" }] } });
  });

  test("a call that waits for a modern client goes on where it waits, whichever replica the client comes back to", async () => {
    const greet: MetaTool = {
      name: "greet",
      inputSchema: { type: "object" },
      async run(_, { gateway, call }) {
        const answer = await gateway.services.clients?.get(call)?.ask("elicitation/create", form);
        return textResult(JSON.stringify(answer));
      },
    };
    const [one, other] = [await replica("one", [greet]), await replica("other", [greet])];
    const _meta = {
      ...modernMeta,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
    };
    const params = { name: "greet", arguments: {}, _meta };
    const { result } = await readAnswer(askModern(one.url, "tools/call", params));
    const { inputRequests, requestState } = result as { inputRequests: object; requestState: string };
    const accepted = { action: "accept", content: { name: "Ada" } };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, accepted]));
    const retry = { ...params, inputResponses, requestState };
    const stranger = await readAnswer(askModern(other.url, "tools/call", { ...retry, arguments: { x: 1 } }));
    expect(stranger).toMatchObject({ error: { data: { reason: "invalid_request_state" } } });
    const answer = await readAnswer(askModern(other.url, "tools/call", retry));
    expect(answer).toMatchObject({ result: textResult(JSON.stringify(accepted)) });
    // Once is once, wherever it is asked.
    for (const { url } of [one, other]) {
      const again = await readAnswer(askModern(url, "tools/call", retry));
      expect(again).toMatchObject({ error: { data: { reason: "invalid_request_state" } } });
    }
  });

  test("is its actor's alone, at every replica", async () => {
    const open = (): Promise<HttpServer> =>
      serveGateway({
        preset: definePreset({
          name: "test",
          plugins: [state({ state: redis.url, timeoutMs: 10_000 }), replicas(), onlyPeople],
          tools: [{ name: "who", inputSchema: {}, run: (_, { call }) => textResult(call.actor.id) }],
        }),
      });
    const [one, other] = [await open(), await open()];
    const begun = await ask(one.url, "initialize", asked, by("ann"));
    const session = { [SESSION]: String(begun.headers.get(SESSION)) };
    const as = (actor: string) => ({ headers: { ...session, ...by(actor).headers } });
    const answer = await readAnswer(ask(other.url, "tools/call", { name: "who" }, as("ann")));
    expect(answer).toMatchObject({ result: { content: [{ text: "ann" }] } });
    expect((await ask(other.url, "tools/call", { name: "who" }, as("bob"))).status).toBe(404);
    expect((await ask(other.url, "tools/call", { name: "who" }, { headers: session })).status).toBe(401);
  });

  test("tells of progress as it comes, and is cancelled from anywhere", async () => {
    const slow = waiting();
    const [one, other] = [await replica("one", [slow.tool]), await replica("other", [slow.tool])];
    const headers = await begin(one);
    const params = { name: "wait", _meta: { progressToken: "p" } };
    const response = await ask(other.url, "tools/call", params, { headers });
    const messages = streamMessages(response);
    expect((await messages.next()).value).toMatchObject({ method: "notifications/progress" });
    expect(slow).toMatchObject({ started: 1, cancelled: 0 });
    const notice = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
    const third = await replica("third");
    const told = await fetch(third.url, {
      method: "POST",
      headers: {
        ...headers,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify(notice),
    });
    expect(told.status).toBe(202);
    await until(() => slow.cancelled === 1);
    await messages.return(undefined);
  });

  test("listens at another replica, and is told there", async () => {
    const [one, other] = [await replica("one"), await replica("other")];
    const headers = { ...(await begin(one)), accept: "text/event-stream" };
    const controller = new AbortController();
    const response = await fetch(other.url, { headers, signal: controller.signal });
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
    controller.abort();
  });

  test("is gone with its replica, and so is an unknown one", async () => {
    const [one, other] = [await replica("one"), await replica("other")];
    const headers = await begin(one);
    await one.close({ drainMs: 0 });
    const response = await ask(other.url, "tools/list", {}, { headers });
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({
      error: { message: "There is no such session. Begin another one." },
    });
    for (const id of ["never", "x".repeat(1_000), "a:b*"]) {
      expect((await ask(other.url, "tools/list", {}, { headers: { [SESSION]: id } })).status).toBe(404);
    }
    expect(await which(other, await begin(other))).toEqual([{ type: "text", text: "other" }]);
  });

  test("whose replica has not been heard of for long is gone, even if another server answers at its address", async () => {
    const [one, other] = [await replica("one"), await replica("other")];
    const headers = await begin(one);
    const home = await admin.get(`toolpipe:session:${headers[SESSION]}`);
    expect(await admin.pttl(`toolpipe:replica:${home}`)).toBeGreaterThan(0);
    await admin.set(`toolpipe:session:${headers[SESSION]}`, "one that ended");
    expect((await ask(other.url, "tools/list", {}, { headers })).status).toBe(404);
  });

  test("is never sent around in a circle", async () => {
    const [one, other] = [await replica("one"), await replica("other")];
    const headers = await begin(one);
    const home = await admin.get(`toolpipe:session:${headers[SESSION]}`);
    // The wrong address is there: its own.
    await admin.set(`toolpipe:replica:${home}`, new URL(other.url).origin, "PX", 60_000);
    expect((await ask(other.url, "tools/list", {}, { headers })).status).toBe(404);
  });

  test("whose replica ends before it answers is told so, since something may have been done", async () => {
    const other = await replica("other");
    const address = await listening((request) => request.socket.destroy());
    await admin.set("toolpipe:session:s-1", "r-1", "PX", 60_000);
    await admin.set("toolpipe:replica:r-1", address, "PX", 60_000);
    const response = await ask(other.url, "tools/list", {}, { headers: { [SESSION]: "s-1" } });
    expect(response.status).toBe(502);
  });

  test("is passed on as it came: who asks is found out by its own replica, and nothing of the connection goes along", async () => {
    const other = await replica("other");
    const seen: { url?: string | undefined; headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
    const address = await listening((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += String(chunk);
      });
      request.on("end", () => {
        seen.push({ url: request.url, headers: request.headers, body });
        response.writeHead(418, { "x-home": "yes", connection: "close" }).end("{}");
      });
    });
    await admin.set("toolpipe:session:s-2", "r-2", "PX", 60_000);
    await admin.set("toolpipe:replica:r-2", address, "PX", 60_000);
    const headers = { [SESSION]: "s-2", authorization: "Bearer of the client", origin: "http://localhost:1" };
    const response = await ask(`${other.url}?a=//b`, "tools/list", {}, { headers });
    expect([response.status, response.headers.get("x-home")]).toEqual([418, "yes"]);
    expect(seen).toHaveLength(1);
    expect(seen[0]).toMatchObject({
      url: "/mcp?a=//b",
      headers: {
        authorization: "Bearer of the client",
        host: new URL(address).host,
        [SESSION]: "s-2",
        "toolpipe-forwarded-by": expect.any(String),
      },
    });
    expect(seen[0]?.headers["origin"]).toBeUndefined();
    expect(JSON.parse(String(seen[0]?.body))).toMatchObject({ method: "tools/list" });
  });

  test("fault 59: while Redis is away is answered where it began, and any replica begins another", async () => {
    const own = await startRedis();
    const [one, other] = [await replica("one", [], own.url), await replica("other", [], own.url)];
    const headers = await begin(one);
    await own.stop();
    expect(await which(one, headers)).toEqual([{ type: "text", text: "one" }]);
    expect((await ask(other.url, "tools/call", { name: "which" }, { headers })).status).toBe(404);
    expect(await which(other, await begin(other))).toEqual([{ type: "text", text: "other" }]);
  });

  test("stays where it is when its gateway is given another config", async () => {
    const [one, other] = [await replica("one"), await replica("other")];
    const headers = await begin(one);
    const plugins = [state({ state: redis.url, timeoutMs: 10_000 }), replicas()];
    const renewed: MetaTool = {
      name: "which",
      inputSchema: { type: "object" },
      run: () => textResult("one, renewed"),
    };
    await one.reload({ preset: definePreset({ name: "test", plugins, tools: [renewed] }) });
    expect(await which(other, headers)).toEqual([{ type: "text", text: "one, renewed" }]);
  });
});

/** Listens as if it were a replica, and returns where. */
async function listening(handle: RequestListener): Promise<string> {
  const server = createServer(handle);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
