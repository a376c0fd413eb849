import { existsSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Cancellation, GatewayError } from "../../../core/mod.ts";
import { connectStdio, type StdioUpstream } from "../../../plugins/mcp/stdio/connect.ts";
import { faulty, fixture, isAlive, readText, script } from "../../support/stdio-servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";
import { connected } from "./_stdio.ts";

const sdkServer = fixture("sdk-server.mjs");

/** The ids of grandchildren that a server wrote to its error output. */
function findGrandchild(error: unknown): number {
  return Number(/grandchild (\d+)/.exec(String((error as { cause?: Error }).cause?.message))?.[1]);
}

describe("a connection that does not come about", () => {
  test("fault 3: a server that hangs in the handshake is abandoned in time, and its tree is dead within 5 s", async () => {
    const began = performance.now();
    const error = await connectStdio(faulty("hanginit"), { name: "slow", startTimeoutMs: 700 }).catch(
      (thrown) => thrown,
    );
    const took = performance.now() - began;
    expect(error).toMatchObject({
      code: "CONNECT_TIMEOUT",
      message: 'The server "slow" was not ready within 700 ms.',
      data: { ms: 700 },
    });
    expect(took).toBeGreaterThan(600);
    expect(took).toBeLessThan(10_000);
    const grandchild = findGrandchild(error);
    expect(grandchild).toBeGreaterThan(0);
    await until(() => !isAlive(grandchild), 5_000);
  });

  test("a command that does not exist is named", async () => {
    const connection = {
      type: "stdio" as const,
      command: "no-such-mcp",
      args: ["canary"],
      env: { KEY: "canary" },
    };
    await expect(connectStdio(connection, { name: "x" })).rejects.toMatchObject({
      code: "SPAWN_FAILED",
      message: 'The command "no-such-mcp" could not be started: it was not found.',
    });
  });

  test("the exit of a server is reported at once; what it wrote is for logs alone", async () => {
    const error = await connectStdio(faulty("exitinit"), { name: "broken" }).catch((thrown) => thrown);
    expect(error).toMatchObject({
      code: "CONNECT_FAILED",
      message: 'The server "broken" ended before it was ready: its process ended with exit code 1.',
    });
    expect(JSON.stringify(error)).not.toContain("canary");
    expect(error.cause.message).toContain("canary: the key is missing");
  });

  test.skipIf(process.platform === "win32")(
    "the end of a server that takes no message is the reason, though it is known only after the refused message",
    async () => {
      const mark = join(await temporaryFolder({ keep: "" }), "closed");
      const connection = {
        type: "stdio" as const,
        command: "/bin/sh",
        args: ["-c", `exec 0<&-; : > '${mark}'; sleep 0.2; exit 3`],
        env: {},
      };
      const turns = { waitedMs: 0, take: () => until(() => existsSync(mark)) };
      await expect(connectStdio(connection, { name: "shut", turns })).rejects.toMatchObject({
        code: "CONNECT_FAILED",
        message: expect.stringMatching(
          /^The server "shut" ended before it was ready: its process (ended with exit code 3|closed its input)\.$/,
        ),
      });
    },
  );

  test("a server that refuses the handshake is quoted in one clean line", async () => {
    await expect(connectStdio(faulty("refuseinit"), { name: "paid" })).rejects.toMatchObject({
      code: "CONNECT_FAILED",
      message: 'The server "paid" refused the connection: No licence.',
    });
  });

  test("can be called off", async () => {
    const controller = new AbortController();
    const connecting = connectStdio(faulty("hanginit"), { name: "slow", signal: controller.signal });
    setTimeout(() => controller.abort(), 100);
    await expect(connecting).rejects.toMatchObject({ code: "CANCELLED" });
    const late = connectStdio(faulty("ok"), { name: "slow", signal: controller.signal });
    await expect(late).rejects.toMatchObject({ code: "CANCELLED" });
  });

  test("can be called off at once, before anything was heard of the server", async () => {
    const controller = new AbortController();
    const began = performance.now();
    const options = { name: "slow", signal: controller.signal, startTimeoutMs: 60_000 };
    const connecting = connectStdio(faulty("hanginit"), options);
    controller.abort();
    await expect(connecting).rejects.toMatchObject({ code: "CANCELLED" });
    expect(performance.now() - began).toBeLessThan(30_000);
  });
});

describe("legacy and modern protocol", () => {
  const at = new Date().toISOString();

  test("a server of the legacy protocol is cached as such", async () => {
    await using upstream = await connected(faulty("ok"));
    expect(upstream.prior).toMatchObject({ protocol: "legacy", protocolVersion: "2025-11-25" });
    expect(Date.now() - Date.parse(upstream.prior.at)).toBeLessThan(60_000);
    expect(upstream.info).toEqual({
      name: "faulty",
      title: "Faulty",
      version: "1.2.3",
      instructions: "Handle with care.",
      protocolVersion: "2025-11-25",
      capabilities: {
        tools: { listChanged: true },
        prompts: { listChanged: true },
        resources: { listChanged: true },
      },
    });
  });

  test("a server of the modern protocol alone is found out, and the next time asked in its own way", async () => {
    const first = await connected(faulty("modern"));
    expect(first.prior).toMatchObject({ protocol: "modern", protocolVersion: "2026-07-28" });
    expect(first.info).toMatchObject({ name: "faulty", instructions: "Handle with care." });
    await first.close();
    const kept = JSON.parse(JSON.stringify(first.prior));
    await using second = await connected(faulty("modern"), { prior: kept });
    expect(second.prior.protocol).toBe("modern");
    expect(readText(await second.call("echo", { text: "on" }))).toBe("on");
  });

  test("a server that knows both is spoken to in the older one, or as it was cached", async () => {
    const server = script(sdkServer, "--legacy", "serve");
    await using older = await connected(server);
    expect(older.prior.protocol).toBe("legacy");
    await using newer = await connected(server, {
      prior: { protocol: "modern", protocolVersion: "2026-07-28", at },
    });
    expect(newer.prior.protocol).toBe("modern");
  });

  test("a cached protocol that is no longer true costs a second try, not the connection", async () => {
    const wrong = { protocol: "modern", protocolVersion: "2026-07-28", at };
    await using legacy = await connected(faulty("ok"), { prior: wrong });
    expect(legacy.prior.protocol).toBe("legacy");
    // One that ends at a message it does not know is started anew.
    await using strict = await connected(faulty("strict"), { prior: wrong });
    expect(strict.prior.protocol).toBe("legacy");
    await using modern = await connected(faulty("modern"), {
      prior: { protocol: "legacy", protocolVersion: "", at },
    });
    expect(modern.prior.protocol).toBe("modern");
  });

  const unusable = [
    null,
    "modern",
    { protocol: "modern" },
    { protocol: "other", protocolVersion: "1", at },
    [],
    { at },
  ];
  test.for(unusable.map((prior) => [JSON.stringify(prior), prior] as const))(
    "something unusable in place of a memory is ignored: %s",
    async ([, prior]) => {
      await using upstream = await connected(faulty("ok"), { prior });
      expect(upstream.prior.protocol).toBe("legacy");
    },
  );
});

describe("lists", () => {
  test("fault 20: a cursor that comes back ends the list, and no tool is there twice", async () => {
    await using upstream = await connected(faulty("loopcursor"));
    const { tools, rejected } = await upstream.list();
    expect(tools.length).toBe(14);
    expect(new Set(tools.map((tool) => tool.name)).size).toBe(14);
    expect(rejected).toEqual([]);
  });

  test("fault 20: a list without an end is read for a thousand pages, and it is said that there is more", async () => {
    await using upstream = await connected(faulty("manypages"));
    const { tools, rejected } = await upstream.list();
    expect(tools.length).toBe(1_000);
    expect(rejected).toEqual([{ name: "(more)", reason: "the server's list is longer than 1000 pages" }]);
  });

  test("all pages together have one deadline", async () => {
    await using upstream = await connected(faulty("slowpages"));
    const began = performance.now();
    await expect(upstream.list({ timeoutMs: 400 })).rejects.toMatchObject({
      code: "TIMEOUT",
      data: { ms: 400 },
    });
    expect(performance.now() - began).toBeLessThan(10_000);
  });

  test("pages are put together in order", async () => {
    await using upstream = await connected(faulty("twopages"));
    const { tools } = await upstream.list();
    expect(tools.slice(0, 3).map((tool) => tool.name)).toEqual(["echo", "fail", "error"]);
    expect(tools.length).toBe(14);
  });

  test.for(["onebadtool", "modern-onebadtool"])(
    "fault 21: one invalid tool among a hundred costs the others nothing (%s)",
    async (mode) => {
      await using upstream = await connected(faulty(mode));
      const { tools, rejected } = await upstream.list();
      expect(tools.length).toBe(99);
      expect(tools[0]).toEqual({ name: "tool-0", inputSchema: { type: "object" } });
      expect(rejected).toEqual([{ name: "bad", reason: "its inputSchema is not an object" }]);
    },
  );

  test("every bad tool is named with the reason, and a good one keeps what only servers know", async () => {
    await using upstream = await connected(faulty("badtools"));
    const { tools, rejected } = await upstream.list();
    expect(tools).toEqual([{ name: "odd", inputSchema: { type: "object" }, icons: [{ src: "i" }] }]);
    expect(rejected).toEqual([
      { name: "", reason: "it is not an object" },
      { name: "", reason: "it is not an object" },
      { name: "", reason: "it has no name" },
      { name: "", reason: "it has no name" },
      { name: "no-schema", reason: "its inputSchema is not an object" },
      { name: "words", reason: "its description is not a string" },
      { name: "proto", reason: "it holds a key that is not allowed" },
    ]);
  });

  test("something else than a list is an empty one", async () => {
    await using upstream = await connected(faulty("notalist"));
    expect((await upstream.list()).tools).toEqual([]);
  });

  test("prompts and resources are read too, and what is wrong with them is left out", async () => {
    await using upstream = await connected(faulty("ok"));
    const listing = await upstream.list();
    expect(listing.prompts).toEqual([{ name: "greet" }]);
    expect(listing.resources).toEqual([{ uri: "file:///a", name: "a" }]);
    expect(listing.resourceTemplates).toEqual([]);
  });

  test("prompts and resources that hang or fail do not cost the tools", async () => {
    await using upstream = await connected(faulty("hangextras"));
    const listing = await upstream.list({ timeoutMs: 500 });
    expect(listing).toMatchObject({ prompts: [], resources: [], resourceTemplates: [] });
    expect(listing.tools.length).toBe(14);
  });

  test("requests only declared capabilities, and tools", async () => {
    await using silent = await connected(faulty("silent"));
    expect(await silent.list()).toMatchObject({ prompts: [], resources: [] });
    await using undeclared = await connected(faulty("undeclared"));
    expect((await undeclared.list()).tools.length).toBe(14);
  });

  test("many announcements at once are told once", async () => {
    let told = 0;
    await using upstream = await connected(faulty("ok"), { events: { onListChanged: () => told++ } });
    await upstream.call("change", {});
    await until(() => told > 0);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(told).toBe(1);
  });
});

describe("calls", () => {
  let upstream: StdioUpstream;
  beforeAll(async () => {
    upstream = await connectStdio(faulty("ok"), { name: "test" });
  });
  afterAll(() => upstream.close());

  test("return the result as it was sent, whatever a schema says of it", async () => {
    expect(await upstream.call("structured", {})).toEqual({
      content: [{ type: "novel", any: 1 }],
      structuredContent: [1, null],
      _meta: { trace: "t" },
      extra: true,
    });
  });

  test("pass `_meta` on, but not what belongs to the connection they came in on", async () => {
    const meta = {
      traceparent: "00-1-2-03",
      progressToken: 0,
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": {},
      "io.modelcontextprotocol/clientCapabilities": {},
    };
    expect(JSON.parse(readText(await upstream.call("meta", {}, { meta })))).toEqual({
      traceparent: "00-1-2-03",
    });
    expect(readText(await upstream.call("meta", {}, { meta: { progressToken: 5 } }))).toBe("null");
  });

  test("that are cancelled or time out are cancelled at the server", async () => {
    const cancellation = new Cancellation();
    const call = upstream.call("wait", {}, { cancellation });
    await upstream.call("echo", { text: "so it has been sent" });
    cancellation.cancel();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(upstream.call("wait", {}, { timeoutMs: 20 })).rejects.toMatchObject({ code: "TIMEOUT" });
    await until(async () => JSON.parse(readText(await upstream.call("cancelled", {}))).length === 2);
  });

  test("end with the reason that they were cancelled for", async () => {
    const reason = new GatewayError("DENIED", "Enough.");
    const cancellation = new Cancellation();
    cancellation.cancel(reason);
    await expect(upstream.call("wait", {}, { cancellation })).rejects.toBe(reason);
  });

  test("that the server answers with an error quote it, short and clean", async () => {
    const message = `\u001b[31mIt broke\u001b[0m\u0007.\n    at run (/srv/app.js:1:2)\n${"long ".repeat(500)}`;
    const error = await upstream.call("error", { message }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: "UPSTREAM_ERROR", data: { rpcCode: -32000 } });
    expect(error.message).toMatch(/^It broke ?\. long long/);
    expect(error.message.length).toBeLessThan(550);
    expect(error.message).not.toMatch(/app\.js|\p{Cc}/u);
    expect(JSON.stringify(error)).not.toContain("canary");
  });

  test("of a tool that is not there fail", async () => {
    await expect(upstream.call("nothing", {})).rejects.toMatchObject({
      code: "UPSTREAM_ERROR",
      message: "Unknown tool: nothing",
    });
  });

  test("are not disturbed by a server that asks back for what we do not offer", async () => {
    const answers: unknown[] = JSON.parse(readText(await upstream.call("ask", {}, { timeoutMs: 5_000 })));
    expect(answers).toHaveLength(5);
    expect(answers).toEqual(
      expect.arrayContaining([
        { id: "ask roots/list", code: -32601 },
        { id: "ask sampling/createMessage", code: -32601 },
        { id: "ask elicitation/create", code: -32601 },
        { id: "ask ping" },
        { id: "ask made/up", code: -32601 },
      ]),
    );
  });

  test("fault 13: progress without end does not put off the time-out", async () => {
    await using endless = await connected(faulty("progress"));
    let seen = 0;
    const began = performance.now();
    const call = endless.call("fault", {}, { timeoutMs: 500, onProgress: () => seen++ });
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(seen).toBeGreaterThan(5);
  });

  test("fail at once when the connection ends, with the reason", async () => {
    let reason = "";
    const events = { onClosed: (why: string) => (reason = why) };
    await using crashing = await connected(faulty("ok"), { events });
    const began = performance.now();
    const waiting = crashing.call("wait", {}, { timeoutMs: 30_000 });
    const failed = expect(waiting).rejects.toMatchObject({ code: "UPSTREAM_CLOSED" });
    await expect(crashing.call("exit", {})).rejects.toMatchObject({
      code: "UPSTREAM_CLOSED",
      message: 'The connection to the server "test" ended: its process ended with exit code 3.',
    });
    await failed;
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(reason).toBe("its process ended with exit code 3");
    await expect(crashing.call("echo", {})).rejects.toMatchObject({ code: "UPSTREAM_CLOSED" });
  });

  test("that want input are answered with the questions as they came, in the modern protocol", async () => {
    await using asking = await connected(faulty("modern-input"));
    expect(await asking.call("fault", {})).toMatchObject({
      resultType: "input_required",
      inputRequests: { who: { method: "elicitation/create", params: { message: "Who are you?" } } },
      requestState: "s",
    });
  });
});
