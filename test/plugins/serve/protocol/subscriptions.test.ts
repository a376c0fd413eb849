import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { definePreset, type JsonObject, type Preset } from "../../../../core/mod.ts";
import { ask, askModern, modernMeta, readAnswer, serveGateway, streamMessages, until } from "../_http.ts";
import { connectStdio } from "../_stdio.ts";

/** Things that change when they are told to, and who watches them. */
function garden(): {
  readonly preset: Preset;
  readonly watched: Map<string, number>;
  update(uri: string): void;
  change(list: "prompts" | "resources"): void;
} {
  const subscribers = new Map<string, Set<(uri: string) => void>>();
  const watched = new Map<string, number>();
  const changed: Record<string, () => void> = {};
  const preset = definePreset({
    name: "garden",
    plugins: [
      {
        name: "garden",
        setup(gateway) {
          gateway.register("resources", "own", {
            list: () => [{ uri: "garden:rose", name: "rose" }],
            read: (uri) => (uri.startsWith("garden:") ? { contents: [{ uri, text: "red" }] } : undefined),
            templates: () => [{ uriTemplate: "garden:{plant}", name: "a plant" }],
            watch(uri, { onUpdate }) {
              if (!uri.startsWith("garden:")) return undefined;
              const all = subscribers.get(uri) ?? new Set();
              subscribers.set(uri, all.add(onUpdate));
              watched.set(uri, (watched.get(uri) ?? 0) + 1);
              return () => {
                all.delete(onUpdate);
                watched.set(uri, (watched.get(uri) ?? 0) - 1);
              };
            },
            onChange: (tell) => {
              changed["resources"] = tell;
            },
          });
          gateway.register("prompts", "own", {
            list: () => [],
            get: () => undefined,
            onChange: (tell) => {
              changed["prompts"] = tell;
            },
          });
        },
      },
    ],
  });
  return {
    preset,
    watched,
    update(uri) {
      for (const tell of subscribers.get(uri) ?? []) tell(uri);
    },
    change: (list) => changed[list]?.(),
  };
}

const everything = {
  toolsListChanged: true,
  promptsListChanged: true,
  resourcesListChanged: true,
  resourceSubscriptions: ["garden:rose"],
};
const id = (value: unknown): object => ({ "io.modelcontextprotocol/subscriptionId": value });

describe("a legacy client", () => {
  test("over standard input and output hears of what it subscribed to, until it no longer wants to", async () => {
    const { preset, watched, update } = garden();
    const client = await connectStdio({ preset });
    const { result } = await client.request("initialize", {});
    expect(result).toMatchObject({
      capabilities: { resources: { subscribe: true, listChanged: true }, prompts: { listChanged: true } },
    });
    client.notify("notifications/initialized");
    expect((await client.request("resources/subscribe", { uri: "garden:rose" }))["result"]).toEqual({});
    await client.request("resources/subscribe", { uri: "garden:rose" });
    expect(watched.get("garden:rose")).toBe(1);
    update("garden:rose");
    update("garden:tulip");
    expect(await client.find(({ method }) => method === "notifications/resources/updated")).toEqual({
      jsonrpc: "2.0",
      method: "notifications/resources/updated",
      params: { uri: "garden:rose" },
    });
    expect((await client.request("resources/unsubscribe", { uri: "garden:rose" }))["result"]).toEqual({});
    await until(() => watched.get("garden:rose") === 0);
    update("garden:rose");
    expect(client.messages.filter(({ method }) => method)).toHaveLength(1);
  });

  test("is told in the terms of its protocol version that there is nothing to subscribe to", async () => {
    const client = await connectStdio({ preset: garden().preset });
    client.notify("notifications/initialized");
    const missing = await client.request("resources/subscribe", { uri: "other:rose" });
    expect(missing["error"]).toMatchObject({ code: -32002, data: { uri: "other:rose" } });
    expect((await client.request("resources/subscribe", {}))["error"]).toMatchObject({ code: -32602 });
    const newer = await client.request("resources/subscribe", { uri: "garden:rose", _meta: modernMeta });
    expect(newer["error"]).toMatchObject({ code: -32601 });
  });

  test("hears that lists have changed", async () => {
    const { preset, change } = garden();
    const client = await connectStdio({ preset });
    await client.request("initialize", {});
    client.notify("notifications/initialized");
    await client.request("ping");
    change("prompts");
    change("prompts");
    change("resources");
    await client.find(({ method }) => method === "notifications/prompts/list_changed");
    await client.find(({ method }) => method === "notifications/resources/list_changed");
    expect(client.messages.filter(({ method }) => method)).toHaveLength(2);
  });

  test("made with the older SDK subscribes over HTTP, and hears by the stream that it keeps open", async () => {
    const { preset, watched, update } = garden();
    const { url } = await serveGateway({ preset });
    const client = new LegacyClient({ name: "legacy", version: "1.0.0" });
    const heard: string[] = [];
    client.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void heard.push(params.uri),
    );
    await client.connect(new LegacyTransport(new URL(url)) as Transport);
    onTestFinished(() => client.close());
    await client.subscribeResource({ uri: "garden:rose" });
    await until(() => watched.get("garden:rose") === 1);
    update("garden:rose");
    await until(() => heard.length === 1);
    await client.close();
    await until(() => watched.get("garden:rose") === 0);
  });

  test("keeps its subscriptions when the config is read again", async () => {
    const [before, after] = [garden(), garden()];
    const client = await connectStdio({ preset: before.preset });
    await client.request("initialize", {});
    client.notify("notifications/initialized");
    await client.request("resources/subscribe", { uri: "garden:rose" });
    await client.server.reload({ preset: after.preset });
    await until(() => after.watched.get("garden:rose") === 1 && before.watched.get("garden:rose") === 0);
    after.update("garden:rose");
    await client.find(({ method }) => method === "notifications/resources/updated");
  });
});

describe("a modern client", () => {
  test("hears of what it listens to, and of nothing else", async () => {
    const { preset, watched, update, change } = garden();
    const client = await connectStdio({ preset });
    const listen = async (name: string, notifications: object): Promise<JsonObject> => {
      void client.request("subscriptions/listen", { notifications, _meta: modernMeta }, name);
      return client.find(({ params }) => {
        const meta = (params as JsonObject | undefined)?.["_meta"] as JsonObject | undefined;
        return meta?.["io.modelcontextprotocol/subscriptionId"] === name;
      });
    };
    expect(await listen("all", everything)).toMatchObject({ params: { notifications: everything } });
    const prompts = { promptsListChanged: true, resourcesListChanged: false };
    expect((await listen("prompts", prompts))["params"]).toEqual({
      notifications: { promptsListChanged: true },
      _meta: id("prompts"),
    });
    await until(() => watched.get("garden:rose") === 1);
    change("prompts");
    change("resources");
    update("garden:rose");
    const told = (): JsonObject[] =>
      client.messages.filter(({ method }) => method && !String(method).endsWith("acknowledged"));
    await until(() => told().length === 4);
    expect(told()).toEqual(
      expect.arrayContaining([
        { jsonrpc: "2.0", method: "notifications/prompts/list_changed", params: { _meta: id("all") } },
        { jsonrpc: "2.0", method: "notifications/prompts/list_changed", params: { _meta: id("prompts") } },
        { jsonrpc: "2.0", method: "notifications/resources/list_changed", params: { _meta: id("all") } },
        {
          jsonrpc: "2.0",
          method: "notifications/resources/updated",
          params: { uri: "garden:rose", _meta: id("all") },
        },
      ]),
    );
    client.notify("notifications/cancelled", { requestId: "all" });
    await until(() => watched.get("garden:rose") === 0);
  });

  test("made with the newer SDK listens over HTTP", async () => {
    const { preset, watched, update } = garden();
    const { url } = await serveGateway({ preset });
    const mode = { pin: "2026-07-28" };
    const client = new ModernClient({ name: "modern", version: "1.0.0" }, { versionNegotiation: { mode } });
    const heard: string[] = [];
    client.setNotificationHandler(
      "notifications/resources/updated",
      ({ params }) => void heard.push(params.uri),
    );
    await client.connect(new ModernTransport(new URL(url)));
    onTestFinished(() => client.close());
    const subscription = await client.listen({ resourceSubscriptions: ["garden:rose"] });
    expect(subscription.honoredFilter).toEqual({ resourceSubscriptions: ["garden:rose"] });
    await until(() => watched.get("garden:rose") === 1);
    update("garden:rose");
    await until(() => heard.length === 1);
    await subscription.close();
    // Deno's fetch keeps a connection for a while after its answer was cancelled, without notice.
    if (!("Deno" in globalThis)) await until(() => watched.get("garden:rose") === 0);
  });

  test("that listens to nothing there is has its stream ended over HTTP, and not where streams are shared", async () => {
    const { url } = await serveGateway();
    const stream = streamMessages(
      await askModern(url, "subscriptions/listen", {
        notifications: { ...everything, toolsListChanged: false },
      }),
    );
    expect((await stream.next()).value).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: {}, _meta: id(1) },
    });
    expect((await stream.next()).value).toMatchObject({
      id: 1,
      result: { resultType: "complete", _meta: id(1) },
    });
    expect((await stream.next()).done).toBe(true);

    const client = await connectStdio({ preset: definePreset({ name: "bare", plugins: [] }) });
    void client.request("subscriptions/listen", { notifications: {}, _meta: modernMeta }, "none");
    await client.find(({ method }) => method === "notifications/subscriptions/acknowledged");
    await client.request("ping", {}, "after");
    expect(client.messages.some(({ id: answered }) => answered === "none")).toBe(false);
  });

  test.each([[{ resourceSubscriptions: "garden:rose" }], [{ resourceSubscriptions: [7] }]])(
    "is told that it cannot listen to %j",
    async (notifications) => {
      const { url } = await serveGateway({ preset: garden().preset });
      const { error } = await readAnswer(askModern(url, "subscriptions/listen", { notifications }));
      expect(error).toMatchObject({ code: -32602 });
    },
  );
});

test("templates of resources are listed in both protocols", async () => {
  const { url } = await serveGateway({ preset: garden().preset });
  const resourceTemplates = [{ uriTemplate: "garden:{plant}", name: "a plant" }];
  expect((await readAnswer(ask(url, "resources/templates/list")))["result"]).toEqual({ resourceTemplates });
  expect((await readAnswer(askModern(url, "resources/templates/list")))["result"]).toMatchObject({
    resourceTemplates,
    ttlMs: 0,
    cacheScope: "private",
  });
});
