import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { definePlugin, type JsonObject, type MetaTool, textResult } from "../../../core/mod.ts";
import { audit, memorySink } from "../../../plugins/audit/mod.ts";
import { auth } from "../../../plugins/auth/mod.ts";
import { results } from "../../../plugins/results/mod.ts";
import {
  ask,
  askModern,
  beginSession,
  modernMeta,
  preset,
  readAnswer,
  serveGateway,
  streamMessages,
  until,
  waiting,
} from "../../plugins/serve/_http.ts";
import { asker } from "../../support/asker.ts";
import { catchFailure } from "../../support/failure.ts";
import { by, onlyPeople, people } from "../_people.ts";

const whoami: MetaTool = {
  name: "whoami",
  inputSchema: { type: "object" },
  run: (_args, { call: { actor } }) => textResult(`${actor.id} ${actor.scopes.join()}`),
};
const config = { preset: preset([whoami]), plugins: [onlyPeople] };
const readText = (answer: JsonObject): unknown =>
  (answer["result"] as { content: { text: string }[] } | undefined)?.content[0]?.text;

describe("who has no token that counts", () => {
  test.each([
    ["no token", {}, undefined],
    ["an unknown token", { authorization: "Bearer tp_eve" }, "invalid_token"],
    ["something else", { authorization: "Basic YW5uOmE=" }, "invalid_token"],
  ])("is told where to get one: %s", async (_what, headers, error) => {
    const { url } = await serveGateway(config);
    for (const asking of [ask, askModern]) {
      const response = await asking(url, "tools/list", {}, { headers });
      expect(response.status).toBe(401);
      const challenge = String(response.headers.get("www-authenticate"));
      const { origin } = new URL(url);
      expect(challenge).toContain(
        `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`,
      );
      expect(/error="(\w+)"/.exec(challenge)?.[1]).toBe(error);
      expect(await response.json()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code: -32001 } });
    }
  });

  test("hears nothing that is told, and sends nothing that is read", async () => {
    const { url } = await serveGateway(config);
    const stream = await fetch(url, { headers: { accept: "text/event-stream" } });
    expect(stream.status).toBe(401);
    const large = await ask(url, "ping", { large: "x".repeat(12_000_000) });
    expect(large.status).toBe(401);
  });

  test("finds where tokens come from without one, at both places that clients look at", async () => {
    const issuer = { issuer: "https://issuer.example", audience: "a", jwks: "https://issuer.example/jwks" };
    const { url } = await serveGateway({ preset: preset([]), plugins: [auth({ jwt: [issuer] })] });
    const { origin } = new URL(url);
    for (const path of ["", "/mcp"]) {
      const response = await fetch(`${origin}/.well-known/oauth-protected-resource${path}`);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        resource: url,
        authorization_servers: ["https://issuer.example"],
        bearer_methods_supported: ["header"],
      });
    }
    expect((await fetch(`${origin}/.well-known/oauth-protected-resource/other`)).status).toBe(404);
  });

  test("no client is sent anywhere if no token is needed", async () => {
    const { url } = await serveGateway({ preset: preset([whoami]) });
    expect((await fetch(`${new URL(url).origin}/.well-known/oauth-protected-resource`)).status).toBe(404);
    expect(readText(await readAnswer(ask(url, "tools/call", { name: "whoami" })))).toBe("local ");
  });

  test("a token that lacks a scope is 403, and the challenge names the scope", async () => {
    const { url } = await serveGateway({
      preset: preset([]),
      plugins: [auth({ ...people, requiredScopes: ["of:ann"] })],
    });
    expect((await ask(url, "ping", {}, by("ann"))).status).toBe(200);
    const response = await ask(url, "ping", {}, by("bob"));
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toMatch(
      /scope="of:ann", error="insufficient_scope", error_description="The token lacks/,
    );
  });

  test("while the keys of an issuer cannot be had, it is 503 and not the caller's fault", async () => {
    const jwt = [{ issuer: "https://i.example", audience: "a", jwks: "http://127.0.0.1:1/jwks" }];
    const { url } = await serveGateway({ preset: preset([]), plugins: [auth({ jwt })] });
    const response = await ask(url, "ping", {}, { headers: { authorization: "Bearer e30.e30.e30" } });
    // A token that is not even one is known to be wrong without any key.
    expect([401, 503]).toContain(response.status);
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const token = `${part({ alg: "ES256", kid: "k" })}.${part({ sub: "a", exp: 9e9 })}.${"A".repeat(86)}`;
    const checked = await ask(url, "ping", {}, { headers: { authorization: `Bearer ${token}` } });
    expect(checked.status).toBe(503);
    expect(checked.headers.get("retry-after")).toBe("5");
  });

  test("an option without tokens lets no caller in", async () => {
    const { url } = await serveGateway({ preset: preset([]), plugins: [auth({ tokens: [] })] });
    expect((await ask(url, "ping", {}, by("ann"))).status).toBe(401);
  });

  test("an unknown host gets 403 before the token is checked", async () => {
    const { url } = await serveGateway(config);
    const response = await ask(url, "ping", {}, { headers: { origin: "https://evil.example" } });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe(null);
  });

  test("refuses a token in any other header", async () => {
    const { url } = await serveGateway(config);
    const value = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/);
    await fc.assert(
      fc.asyncProperty(value, async (authorization) => {
        expect((await ask(url, "ping", {}, { headers: { authorization } })).status).toBe(401);
      }),
      { numRuns: 50 },
    );
  });
});

describe("who has a token", () => {
  test("is known in every call, with their scopes, and in the record of it", async () => {
    const sink = memorySink();
    const { url, gateway } = await serveGateway({ ...config, plugins: [onlyPeople, audit({ sink })] });
    for (const asking of [ask, askModern]) {
      const answer = await readAnswer(asking(url, "tools/call", { name: "whoami" }, by("ann")));
      expect(readText(answer)).toBe("ann of:ann");
    }
    await gateway.close();
    expect(new Set(sink.records.map(({ actor_id }) => actor_id))).toEqual(new Set(["ann"]));
  });

  test("is known to providers of resources and prompts", async () => {
    const tools = definePlugin({
      name: "tools",
      setup(gateway) {
        gateway.register("resources", "own", {
          list: ({ actor }) => [{ uri: `of:${actor.id}`, name: actor.id }],
          read: (uri, { actor }) => ({ contents: [{ uri, text: actor.id }] }),
        });
        gateway.register("prompts", "own", {
          list: ({ actor }) => [{ name: actor.id }],
          get: (_name, _args, { actor }) => ({ messages: [{ role: actor.id }] }),
        });
      },
    })();
    const { url } = await serveGateway({ preset: preset([]), plugins: [onlyPeople, tools] });
    const asked = async (method: string, params: Record<string, unknown> = {}) =>
      JSON.stringify(
        [
          await readAnswer(ask(url, method, params, by("bob"))),
          await readAnswer(ask(url, method, params, by("bob"))),
        ].map(({ result }) => result),
      );
    expect(await asked("resources/list")).toContain("of:bob");
    expect(await asked("resources/read", { uri: "a:b" })).toContain('"text":"bob"');
    expect(await asked("prompts/list")).toContain('"name":"bob"');
    expect(await asked("prompts/get", { name: "x" })).toContain('"role":"bob"');
  });

  test("comes in with either SDK, which is told what it needs where it has none", async () => {
    const { url } = await serveGateway(config);
    const requestInit = by("ann");
    const legacy = new LegacyClient({ name: "legacy", version: "1" });
    await legacy.connect(new LegacyTransport(new URL(url), { requestInit }) as Transport);
    onTestFinished(() => legacy.close());
    expect(await legacy.callTool({ name: "whoami" })).toMatchObject(textResult("ann of:ann"));
    const modern = new ModernClient(
      { name: "modern", version: "1" },
      { versionNegotiation: { mode: "auto" } },
    );
    await modern.connect(new ModernTransport(new URL(url), { requestInit }));
    onTestFinished(() => modern.close());
    expect(modern.getProtocolEra()).toBe("modern");
    expect(await modern.callTool({ name: "whoami" })).toMatchObject(textResult("ann of:ann"));
    const stranger = new LegacyClient({ name: "legacy", version: "1" });
    await expect(stranger.connect(new LegacyTransport(new URL(url)) as Transport)).rejects.toThrow(
      /needs a token|Unauthorized|401/,
    );
  });

  test("is told by a failing server's credentials nothing that looks like their own", async () => {
    const { GatewayError } = await import("../../../core/mod.ts");
    const { NEEDS_AUTH } = await import("../../../core/services/servers.ts");
    const failing: MetaTool = {
      name: "failing",
      inputSchema: { type: "object" },
      run() {
        throw new GatewayError(NEEDS_AUTH, "The server wants a login.");
      },
    };
    const { url } = await serveGateway({ preset: preset([failing]), plugins: [onlyPeople] });
    for (const asking of [ask, askModern]) {
      const response = await asking(url, "tools/call", { name: "failing" }, by("ann"));
      expect(response.status).toBe(200);
      expect(response.headers.get("www-authenticate")).toBe(null);
      expect(await readAnswer(response)).toMatchObject({ result: { isError: true } });
    }
  });
});

describe("what is of one of them", () => {
  test("a session does not exist for other users", async () => {
    const { url } = await serveGateway(config);
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "c", version: "1" },
    };
    const begun = await ask(url, "initialize", params, by("ann"));
    const session = { "mcp-session-id": String(begun.headers.get("mcp-session-id")) };
    const with_ = (actor: string) => ({ headers: { ...by(actor).headers, ...session } });
    expect((await ask(url, "ping", {}, with_("ann"))).status).toBe(200);
    expect((await ask(url, "ping", {}, with_("bob"))).status).toBe(404);
    const stream = await fetch(url, { headers: { accept: "text/event-stream", ...with_("bob").headers } });
    expect(stream.status).toBe(404);
  });

  test("other users cannot cancel a request, whatever session they name", async () => {
    const seen = waiting();
    const { url } = await serveGateway({ preset: preset([seen.tool]), plugins: [onlyPeople] });
    const session = await beginSession(url, {}, by("ann"));
    const cancel = (actor: string) =>
      fetch(url, {
        method: "POST",
        headers: { "content-type": "application/json", ...by(actor).headers, ...session },
        body: '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
      });
    const running = ask(
      url,
      "tools/call",
      { name: "wait" },
      { headers: { ...by("ann").headers, ...session } },
    );
    await until(() => seen.started === 1, 20_000);
    expect((await cancel("bob")).status).toBe(404);
    expect(seen.cancelled).toBe(0);
    expect((await cancel("ann")).status).toBe(202);
    await until(() => seen.cancelled === 1, 20_000);
    await (await running).body?.cancel();
  });

  test("other users cannot answer a question", async () => {
    const tool = asker();
    const { url } = await serveGateway({ preset: tool.preset, plugins: [onlyPeople] });
    const meta = {
      ...modernMeta,
      "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {} } },
    };
    const call = { name: "greet", arguments: {}, _meta: meta };
    const { result } = await readAnswer(askModern(url, "tools/call", call, by("ann")));
    const { inputRequests, requestState } = result as { inputRequests: object; requestState: string };
    const answer = { action: "accept", content: { name: "Ada" } };
    const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
    const retry = { ...call, inputResponses, requestState };
    expect(await readAnswer(askModern(url, "tools/call", retry, by("bob")))).toMatchObject({
      error: { code: -32602, message: expect.stringContaining("belongs to another request") },
    });
    expect(await readAnswer(askModern(url, "tools/call", retry, by("ann")))).toMatchObject({
      result: textResult(JSON.stringify(answer)),
    });
  });

  test("other users cannot read a kept result in any way", async () => {
    const long: MetaTool = {
      name: "long",
      inputSchema: { type: "object" },
      run: () => textResult("SECRET ".repeat(3_000)),
    };
    const { url, gateway } = await serveGateway({
      preset: preset([long]),
      plugins: [onlyPeople, results({ maxBytes: 4_000 })],
    });
    const cut = JSON.stringify(await readAnswer(ask(url, "tools/call", { name: "long" }, by("ann"))));
    const uri = String(/toolpipe:\/\/[^\s"\\]+/.exec(cut)?.[0]);
    const read = async (actor: string, asking: typeof ask) =>
      JSON.stringify(await readAnswer(asking(url, "resources/read", { uri }, by(actor))));
    expect(await read("ann", ask)).toContain("SECRET");
    for (const asking of [ask, askModern]) {
      const params = { uri };
      const headers = { ...by("bob").headers, "mcp-name": uri };
      const answer = await readAnswer(asking(url, "resources/read", params, { headers }));
      expect(answer).toMatchObject({ error: expect.anything() });
      expect(JSON.stringify(answer)).not.toContain("SECRET");
      const list = JSON.stringify(await readAnswer(asking(url, "resources/list", {}, by("bob"))));
      expect(list).not.toContain("toolpipe://results");
    }
    expect(JSON.stringify(await readAnswer(ask(url, "resources/list", {}, by("ann"))))).toContain(
      "toolpipe://results",
    );
    const byTool = async (id: string) =>
      JSON.stringify(
        await gateway.run({ tool: "toolpipe:read_result", args: { uri }, actor: { id, scopes: [] } }),
      );
    expect(await byTool("ann")).toContain("SECRET");
    expect(await byTool("bob")).not.toContain("SECRET");
  });
});

describe("a config that is read again", () => {
  test("may ask for tokens, or for others, from the next request on", async () => {
    const server = await serveGateway({ preset: preset([whoami]) });
    expect((await ask(server.url, "ping")).status).toBe(200);
    await server.reload(config);
    expect((await ask(server.url, "ping")).status).toBe(401);
    expect((await ask(server.url, "ping", {}, by("ann"))).status).toBe(200);
    const [ann] = people.tokens ?? [];
    await server.reload({ preset: preset([]), plugins: [auth({ tokens: ann ? [ann] : [] })] });
    expect((await ask(server.url, "ping", {}, by("bob"))).status).toBe(401);
  });

  test("cannot take the tokens away where others could reach it", async () => {
    const server = await serveGateway(config, { host: "0.0.0.0" });
    const error = await catchFailure(server.reload({ preset: preset([]) }));
    expect(error).toMatchObject({ code: "CONFIG_INVALID", message: expect.stringContaining("0.0.0.0") });
    const url = server.url.replace("0.0.0.0", "127.0.0.1");
    expect((await ask(url, "ping")).status).toBe(401);
    expect((await ask(url, "ping", {}, by("ann"))).status).toBe(200);
  });
});

test("who listens is told what changes, and by name", async () => {
  const server = await serveGateway(config);
  const stream = await fetch(server.url, { headers: { accept: "text/event-stream", ...by("ann").headers } });
  const heard = streamMessages(stream);
  await server.reload({ preset: preset([]), plugins: [onlyPeople] });
  expect((await heard.next()).value).toMatchObject({ method: "notifications/tools/list_changed" });
  await heard.return(undefined);
});
