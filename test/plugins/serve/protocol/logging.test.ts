import { expect, test } from "vitest";
import { definePreset, type JsonObject, localTools, type Preset, textResult } from "../../../../core/mod.ts";
import { ask, askModern, modernMeta, readAnswer, readMessages, serveGateway } from "../_http.ts";
import { connectStdio } from "../_stdio.ts";

/** A tool that says something at each level, at one that is none, and something once it is over. */
const chatty: Preset = definePreset({
  name: "chatty",
  plugins: [
    {
      name: "logging",
      uses: ["clients?"],
      setup: ({ services }) => ({ ready: () => services.clients?.offerLogging() }),
    },
    localTools("chatty", { id: "chatty" }, [
      {
        name: "chat",
        inputSchema: {},
        run(_args, { gateway, call }) {
          const client = gateway.services.clients?.get(call);
          for (const level of ["debug", "info", "warning", "error", "loud"]) {
            client?.notify("notifications/message", { level, data: level });
          }
          setTimeout(() => client?.notify("notifications/message", { level: "error", data: "late" }), 1);
          return textResult("done");
        },
      },
    ]),
  ],
});
const chat = { name: "chat" };
const listLevels = (messages: readonly JsonObject[]): unknown[] =>
  messages
    .filter(({ method }) => method === "notifications/message")
    .map(({ params }) => (params as JsonObject)["data"]);

test("a legacy client hears everything until it sets a level, and then nothing below", async () => {
  const client = await connectStdio({ preset: chatty });
  expect((await client.request("initialize", {}))["result"]).toMatchObject({ capabilities: { logging: {} } });
  await client.request("tools/call", chat);
  expect(listLevels(client.messages)).toEqual(["debug", "info", "warning", "error"]);
  expect((await client.request("logging/setLevel", { level: "warning" }))["result"]).toEqual({});
  const before = client.messages.length;
  await client.request("tools/call", chat);
  await new Promise((resolve) => setTimeout(resolve, 20));
  expect(listLevels(client.messages.slice(before))).toEqual(["warning", "error"]);
  const wrong = await client.request("logging/setLevel", { level: "loud" });
  expect(wrong["error"]).toMatchObject({ code: -32602 });
});

test("a legacy client over HTTP sets its level once for its session", async () => {
  const { url } = await serveGateway({ preset: chatty });
  const begun = await ask(url, "initialize", {});
  const headers = { "mcp-session-id": String(begun.headers.get("mcp-session-id")) };
  await readAnswer(ask(url, "logging/setLevel", { level: "error" }, { headers }));
  expect(listLevels(await readMessages(await ask(url, "tools/call", chat, { headers })))).toEqual(["error"]);
  expect(listLevels(await readMessages(await ask(url, "tools/call", chat)))).toHaveLength(4);
});

test("a modern client hears what its request asks for, and nothing where it does not", async () => {
  const { url } = await serveGateway({ preset: chatty });
  expect(listLevels(await readMessages(await askModern(url, "tools/call", chat)))).toEqual([]);
  const _meta = { "io.modelcontextprotocol/logLevel": "info" };
  expect(listLevels(await readMessages(await askModern(url, "tools/call", { ...chat, _meta })))).toEqual([
    "info",
    "warning",
    "error",
  ]);
  const response = await askModern(url, "logging/setLevel", { level: "info" });
  expect((await readAnswer(response))["error"]).toMatchObject({ code: -32601 });
});

test("a gateway without log messages has no levels to set", async () => {
  const client = await connectStdio({ preset: definePreset({ name: "quiet", plugins: [] }) });
  for (const _meta of [{}, modernMeta]) {
    const { error } = await client.request("logging/setLevel", { level: "info", _meta });
    expect(error).toMatchObject({ code: -32601 });
  }
});
