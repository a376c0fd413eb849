import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernTransport,
} from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { definePreset, type JsonObject, type Plugin, type Preset } from "../../../../core/mod.ts";
import type { PromptProvider } from "../../../../core/services/resources.ts";
import { form } from "../../../support/asker.ts";
import { ask, askModern, modernHeaders, modernMeta, readAnswer, send, serveGateway } from "../_http.ts";
import { connectStdio } from "../_stdio.ts";

const review = {
  name: "review",
  description: "Reviews code",
  arguments: [{ name: "language", required: true }],
};
const provider: PromptProvider = {
  list: () => [review],
  get: (name, args) =>
    name === "review"
      ? { messages: [{ role: "user", content: { type: "text", text: `Review this ${args["language"]}.` } }] }
      : undefined,
  complete: ({ ref, argument }) =>
    ref.type === "ref/prompt" && ref.name === "review"
      ? { values: ["typescript", "python"].filter((value) => value.startsWith(argument.value)) }
      : undefined,
};

function createPreset(...providers: readonly PromptProvider[]): Preset {
  const plugins = providers.map(
    (one, index): Plugin => ({
      name: `prompts-${index}`,
      setup: (gateway) => gateway.register("prompts", `prompts-${index}`, one),
    }),
  );
  return definePreset({ name: "prompting", plugins });
}

const fill = { name: "review", arguments: { language: "Rust" } };
const filled = { messages: [{ role: "user", content: { type: "text", text: "Review this Rust." } }] };
const completion = {
  ref: { type: "ref/prompt", name: "review" },
  argument: { name: "language", value: "t" },
};

test("a client made with the older SDK lists, gets and completes prompts", async () => {
  const { url } = await serveGateway({ preset: createPreset(provider) });
  const client = new LegacyClient({ name: "legacy", version: "1.0.0" });
  await client.connect(new LegacyTransport(new URL(url)) as Transport);
  onTestFinished(() => client.close());
  expect(client.getServerCapabilities()).toMatchObject({ prompts: {}, completions: {} });
  expect((await client.listPrompts()).prompts).toEqual([review]);
  expect(await client.getPrompt(fill)).toEqual(filled);
  expect((await client.complete(completion as never)).completion).toEqual({ values: ["typescript"] });
  await expect(client.getPrompt({ name: "nothing" })).rejects.toMatchObject({ code: -32602 });
});

test("a client made with the newer SDK lists, gets and completes prompts", async () => {
  const { url } = await serveGateway({ preset: createPreset(provider) });
  const mode = { pin: "2026-07-28" };
  const client = new ModernClient({ name: "modern", version: "1.0.0" }, { versionNegotiation: { mode } });
  await client.connect(new ModernTransport(new URL(url)));
  onTestFinished(() => client.close());
  expect(client.getServerCapabilities()).toMatchObject({ prompts: {}, completions: {} });
  expect((await client.listPrompts()).prompts).toEqual([review]);
  expect(await client.getPrompt(fill)).toMatchObject(filled);
  expect((await client.complete(completion as never)).completion).toEqual({ values: ["typescript"] });
  await expect(client.getPrompt({ name: "nothing" })).rejects.toMatchObject({ code: -32602 });
});

describe("prompts", () => {
  test("of several plugins are listed together, and each answers for its own", async () => {
    const other: PromptProvider = {
      list: () => [{ name: "other" }],
      get: (name, _args, { actor }) =>
        name === "other" ? { messages: [], description: actor.id } : undefined,
    };
    const { url } = await serveGateway({ preset: createPreset(provider, other) });
    const list = (await readAnswer(askModern(url, "prompts/list")))["result"];
    expect(list).toMatchObject({ prompts: [review, { name: "other" }], ttlMs: 0, cacheScope: "private" });
    expect((await readAnswer(ask(url, "prompts/list")))["result"]).toEqual({
      prompts: [review, { name: "other" }],
    });
    expect((await readAnswer(ask(url, "prompts/get", { name: "other" })))["result"]).toEqual({
      messages: [],
      description: "local",
    });
  });

  test.each([
    ["prompts/get", {}],
    ["prompts/get", { name: "review", arguments: [] }],
    ["completion/complete", {}],
    ["completion/complete", { ...completion, ref: { type: "ref/other", name: "review" } }],
    ["completion/complete", { ...completion, argument: { name: "language" } }],
  ])("are not asked for by %s of %j", async (method, params) => {
    const { url } = await serveGateway({ preset: createPreset(provider) });
    expect((await readAnswer(ask(url, method, params)))["error"]).toMatchObject({ code: -32602 });
  });

  test("are completed by a hundred values at most, and by none if no provider knows any", async () => {
    const values = Array.from({ length: 150 }, (_, index) => `v${index}`);
    const many: PromptProvider = {
      ...provider,
      complete: ({ ref }) => (ref.type === "ref/resource" && ref.uri === "x:{a}" ? { values } : undefined),
    };
    const { url } = await serveGateway({ preset: createPreset(many) });
    const complete = async (uri: string): Promise<unknown> =>
      (
        await readAnswer(
          ask(url, "completion/complete", { ...completion, ref: { type: "ref/resource", uri } }),
        )
      )["result"];
    expect(await complete("x:{a}")).toEqual({
      completion: { values: values.slice(0, 100), total: 150, hasMore: true },
    });
    expect(await complete("y:{a}")).toEqual({ completion: { values: [] } });
  });

  test.each(["prompts/list", "prompts/get", "completion/complete"])(
    "do not exist without a provider: there is no %s",
    async (method) => {
      const { url } = await serveGateway();
      expect((await readAnswer(ask(url, method, fill)))["error"]).toMatchObject({ code: -32601 });
      const { result } = await readAnswer(ask(url, "initialize"));
      expect((result as { capabilities: object }).capabilities).toEqual({ tools: { listChanged: true } });
    },
  );

  test("of a plugin that completes nothing are not said to be completed", async () => {
    const { complete, ...rest } = provider;
    const { url } = await serveGateway({ preset: createPreset(rest) });
    const { result } = await readAnswer(ask(url, "initialize"));
    expect((result as { capabilities: object }).capabilities).toEqual({
      tools: { listChanged: true },
      prompts: {},
    });
    expect((await readAnswer(ask(url, "completion/complete", completion)))["error"]).toMatchObject({
      code: -32601,
    });
  });

  test("are named in a header in the modern protocol", async () => {
    const { url } = await serveGateway({ preset: createPreset(provider) });
    const message = { jsonrpc: "2.0", id: 1, method: "prompts/get", params: { ...fill, _meta: modernMeta } };
    const headers = modernHeaders("prompts/get", "other");
    expect((await readAnswer(send(url, message, { headers })))["error"]).toMatchObject({ code: -32020 });
  });
});

describe("the caller that gets a prompt, reads a resource or completes an argument", () => {
  const capabilities = { elicitation: {} };
  const accepted = { action: "accept", content: {} };
  const asking = definePreset({
    name: "asking",
    plugins: [
      {
        name: "asking",
        setup(gateway) {
          gateway.register("prompts", "own", {
            list: () => [],
            async get(_name, _args, { client }) {
              return {
                messages: [],
                description: JSON.stringify(await client?.ask("elicitation/create", form)),
              };
            },
            async complete(_request, { client }) {
              return { values: [String(client?.can("elicitation"))] };
            },
          });
          gateway.register("resources", "own", {
            list: () => [],
            async read(uri, { client }) {
              const text = JSON.stringify(await client?.ask("elicitation/create", form));
              return { contents: [{ uri, text }] };
            },
          });
        },
      },
    ],
  });

  test.each([
    ["prompts/get", { name: "any" }],
    ["resources/read", { uri: "any:thing" }],
  ])("can be asked in both protocols: %s", async (method, params) => {
    const client = await connectStdio({ preset: asking });
    await client.request("initialize", { capabilities });
    const got = client.request(method, params);
    client.answer((await client.find(({ method: name }) => name === "elicitation/create"))["id"], {
      result: accepted,
    });
    expect(JSON.stringify((await got)["result"])).toContain("accept");

    const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
    const { result } = await client.request(method, { ...params, _meta });
    const { inputRequests, requestState } = result as { inputRequests: JsonObject; requestState: string };
    const inputResponses = { [String(Object.keys(inputRequests)[0])]: accepted };
    const again = { ...params, _meta, inputResponses, requestState };
    const other = { ...again, name: "other", uri: "other:thing" };
    expect((await client.request(method, other))["error"]).toMatchObject({ code: -32602 });
    expect(JSON.stringify((await client.request(method, again))["result"])).toContain("accept");
  });

  test("takes the question with it when it takes the request back", async () => {
    const client = await connectStdio({ preset: asking });
    await client.request("initialize", { capabilities });
    void client.request("prompts/get", { name: "any" }, "mine");
    const { id } = await client.find(({ method }) => method === "elicitation/create");
    client.notify("notifications/cancelled", { requestId: "mine" });
    const taken = await client.find(({ method }) => method === "notifications/cancelled");
    expect(taken).toMatchObject({ params: { requestId: id } });
  });

  test("is not handed questions in the legacy protocol, which has no such answers", async () => {
    const through = definePreset({
      name: "through",
      plugins: [
        {
          name: "through",
          setup(gateway) {
            const questions = { resultType: "input_required", requestState: "theirs" };
            gateway.register("prompts", "own", {
              list: () => [],
              get: (_name, _args, { input }) => ({
                messages: [],
                ...(input ? { description: String(input.state) } : questions),
              }),
            });
          },
        },
      ],
    });
    const client = await connectStdio({ preset: through });
    expect((await client.request("prompts/get", { name: "any" }))["error"]).toMatchObject({ code: -32021 });
    const params = { name: "any", _meta: modernMeta };
    const { result } = await client.request("prompts/get", params);
    expect(result).toMatchObject({ resultType: "input_required", requestState: "theirs" });
    expect(result).not.toHaveProperty("messages");
    expect(await client.request("prompts/get", { ...params, requestState: "theirs" })).toMatchObject({
      result: { resultType: "complete", description: "theirs" },
    });
  });

  test("is not asked for a completion in the modern protocol", async () => {
    const client = await connectStdio({ preset: asking });
    await client.request("initialize", { capabilities });
    expect(await client.request("completion/complete", completion)).toMatchObject({
      result: { completion: { values: ["true"] } },
    });
    const _meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
    expect(await client.request("completion/complete", { ...completion, _meta })).toMatchObject({
      result: { completion: { values: ["undefined"] } },
    });
  });
});
