import { describe, expect, test } from "vitest";
import { type JsonObject, textResult } from "../../../../core/mod.ts";
import { asker, form, listCodes } from "../../../support/asker.ts";
import { ask, beginSession, readMessages, send, serveGateway, streamMessages, until } from "../_http.ts";
import { connectStdio, type StdioClient } from "../_stdio.ts";

const all = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const call = { name: "greet", arguments: {} };
const accepted = { action: "accept", content: { name: "Ada" } };
const isQuestion = ({ method }: JsonObject): boolean => method === "elicitation/create";

async function begin(client: StdioClient, capabilities: object): Promise<void> {
  const clientInfo = { name: "tester", version: "1.2.3" };
  await client.request("initialize", { protocolVersion: "2025-11-25", capabilities, clientInfo });
  client.notify("notifications/initialized");
}

describe("a legacy client over standard input and output", () => {
  test("is asked while its call runs, by a request of ours, and the call goes on with the answer", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset });
    await begin(client, all);
    const called = client.request("tools/call", call);
    const question = await client.find(isQuestion);
    expect(question).toEqual({
      jsonrpc: "2.0",
      id: expect.any(String),
      method: "elicitation/create",
      params: form,
    });
    client.answer(question["id"], { result: accepted });
    expect((await called)["result"]).toEqual(textResult(JSON.stringify(accepted)));
    expect(tool.client()).toMatchObject({
      protocol: "legacy",
      info: { name: "tester", version: "1.2.3" },
      capabilities: all,
    });
    expect(tool.client()?.can("elicitation")).toBe(false);
  });

  test("is asked several questions at once, and its answers are matched in any order", async () => {
    const tool = asker((client) =>
      Promise.all([
        client.ask("roots/list", {}),
        client.ask("sampling/createMessage", { messages: [], maxTokens: 1 }),
      ]),
    );
    const client = await connectStdio({ preset: tool.preset });
    await begin(client, all);
    const called = client.request("tools/call", call);
    const sampling = await client.find(({ method }) => method === "sampling/createMessage");
    const roots = await client.find(({ method }) => method === "roots/list");
    client.answer(sampling["id"], { result: { model: "m" } });
    client.answer(roots["id"], { result: { roots: [] } });
    client.answer(roots["id"], { result: { roots: ["again"] } });
    expect((await called)["result"]).toEqual(textResult(JSON.stringify([{ roots: [] }, { model: "m" }])));
  });

  test("gets the id that opening a URL has in this protocol", async () => {
    const params = { mode: "url", message: "Log in", url: "https://example.com/login" };
    const client = await connectStdio({
      preset: asker((one) => one.ask("elicitation/create", params)).preset,
    });
    await begin(client, all);
    const called = client.request("tools/call", call);
    const question = await client.find(isQuestion);
    expect(question["params"]).toEqual({
      ...params,
      elicitationId: expect.stringMatching(/^[0-9a-f-]{36}$/),
    });
    client.answer(question["id"], { result: { action: "accept" } });
    expect((await called)["result"]).toEqual(textResult(JSON.stringify({ action: "accept" })));
  });

  test.each([
    ["nothing", {}, "elicitation/create", form, { elicitation: { form: {} } }],
    ["URLs only", { elicitation: { url: {} } }, "elicitation/create", form, { elicitation: { form: {} } }],
    [
      "forms only",
      { elicitation: { form: {} } },
      "elicitation/create",
      { mode: "url" },
      { elicitation: { url: {} } },
    ],
    ["no tools", { sampling: {} }, "sampling/createMessage", { tools: [] }, { sampling: { tools: {} } }],
    ["no roots", { sampling: {} }, "roots/list", {}, { roots: {} }],
    ["everything", all, "tools/list", {}, {}],
  ])("that can do %s is not asked for more", async (_what, capabilities, method, params, missing) => {
    const tool = asker((client) => client.ask(method, params));
    const client = await connectStdio({ preset: tool.preset });
    await begin(client, capabilities);
    expect((await client.request("tools/call", call))["result"]).toMatchObject({ isError: true });
    expect(tool.heard).toMatchObject([{ code: "CLIENT_CANNOT", data: { requiredCapabilities: missing } }]);
    expect(client.messages.filter((message) => message["method"])).toEqual([]);
  });

  test("that says it can be asked, in whatever old way, can be", async () => {
    const can: unknown[] = [];
    const tool = asker(async (client) =>
      can.push(client.can("elicitation"), client.can("sampling"), client.can("roots")),
    );
    for (const capabilities of [
      { elicitation: {} },
      { elicitation: { url: {} } },
      { roots: {}, sampling: {} },
    ]) {
      const client = await connectStdio({ preset: tool.preset });
      await begin(client, capabilities);
      await client.request("tools/call", call);
    }
    expect(can).toEqual([true, false, false, false, false, false, false, true, true]);
  });

  test.each([
    [
      "an error",
      { error: { code: -1, message: "The user said no." } },
      { code: -1, message: "The user said no." },
    ],
    ["no result", { result: "yes" }, { code: -32603 }],
  ])("that answers with %s is reported so", async (_what, answer, data) => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset });
    await begin(client, all);
    const called = client.request("tools/call", call);
    client.answer((await client.find(isQuestion))["id"], answer);
    expect((await called)["result"]).toMatchObject({ isError: true });
    expect(tool.heard).toMatchObject([{ code: "CLIENT_FAILED", data }]);
  });

  test("that does not answer is told that the question is cancelled, and the call fails", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset }, { clientLimits: { answerMs: 30 } });
    await begin(client, all);
    expect(JSON.stringify(await client.request("tools/call", call))).toContain("TOOL_EXECUTION_TIMEOUT");
    expect(listCodes(tool)).toEqual(["CLIENT_SILENT"]);
    const { id } = await client.find(isQuestion);
    const taken = await client.find(({ method }) => method === "notifications/cancelled");
    expect(taken).toMatchObject({ params: { requestId: id } });
  });

  test("that cancels its call takes the question with it", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset });
    await begin(client, all);
    void client.request("tools/call", call, "mine");
    const { id } = await client.find(isQuestion);
    client.notify("notifications/cancelled", { requestId: "mine" });
    await until(() => tool.heard.length === 1);
    expect(listCodes(tool)).toEqual(["CANCELLED"]);
    await client.find((message) => message["method"] === "notifications/cancelled");
    client.answer(id, { result: accepted });
    expect((await client.request("ping"))["result"]).toEqual({});
  });

  test("that goes away leaves no question pending", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset });
    await begin(client, all);
    void client.request("tools/call", call);
    await client.find(isQuestion);
    client.end();
    await until(() => tool.heard.length === 1);
    expect(listCodes(tool)).toEqual(["CLIENT_LEFT"]);
  });

  test("is not asked without end by one call", async () => {
    const tool = asker((client) => Promise.all([1, 2, 3].map(() => client.ask("roots/list", {}))));
    const client = await connectStdio({ preset: tool.preset }, { clientLimits: { questions: 2 } });
    await begin(client, all);
    expect((await client.request("tools/call", call))["result"]).toMatchObject({ isError: true });
    expect(listCodes(tool)).toEqual(["QUESTIONS_FULL"]);
  });
});

describe("a legacy client over HTTP", () => {
  const session = (url: string): ReturnType<typeof beginSession> => beginSession(url, all);
  const createAnswer = (id: unknown): object => ({ jsonrpc: "2.0", id, result: accepted });

  test("is asked on the stream of its request, and answers by another", async () => {
    const { url } = await serveGateway({ preset: asker().preset });
    const headers = await session(url);
    const stream = streamMessages(await ask(url, "tools/call", call, { headers }));
    const { value: question } = await stream.next();
    expect(question).toMatchObject({ method: "elicitation/create", params: form });
    expect((await send(url, createAnswer(question?.["id"]), { headers })).status).toBe(202);
    expect((await stream.next()).value).toMatchObject({
      id: 1,
      result: textResult(JSON.stringify(accepted)),
    });
  });

  test("accepts answers from no other session", async () => {
    const tool = asker();
    const { url } = await serveGateway({ preset: tool.preset });
    const headers = await session(url);
    const stream = streamMessages(await ask(url, "tools/call", call, { headers }));
    const { value: question } = await stream.next();
    for (const others of [await session(url), { "mcp-session-id": "made-up" }, {}]) {
      await send(url, createAnswer(question?.["id"]), { headers: others });
    }
    await send(url, createAnswer("made-up"), { headers });
    expect(tool.heard).toEqual([]);
    const refused = { jsonrpc: "2.0", id: question?.["id"], result: { action: "decline" } };
    await send(url, refused, { headers });
    expect((await stream.next()).value).toMatchObject({
      result: textResult(JSON.stringify({ action: "decline" })),
    });
  });

  test.each([
    ["has no session", async () => ({})],
    ["takes no streams", async (url: string) => ({ ...(await session(url)), accept: "application/json" })],
  ])("that %s cannot be asked", async (_which, headersFor) => {
    const tool = asker();
    const { url } = await serveGateway({ preset: tool.preset });
    const headers = (await headersFor(url)) as Record<string, string>;
    const [answer] = await readMessages(await ask(url, "tools/call", call, { headers }));
    const hasNoClient = tool.client() === undefined;
    expect(answer?.["result"]).toMatchObject(hasNoClient ? textResult("no client") : { isError: true });
    if (!hasNoClient) expect(listCodes(tool)).toEqual(["CLIENT_CANNOT"]);
  });

  test("that goes away leaves no question pending, even where the call goes on", async () => {
    const tool = asker();
    const { url } = await serveGateway({ preset: tool.preset });
    const abort = new AbortController();
    const response = await ask(url, "tools/call", call, {
      headers: await session(url),
      signal: abort.signal,
    });
    await streamMessages(response).next();
    abort.abort();
    await until(() => tool.heard.length === 1);
    expect(["CLIENT_LEFT", "CANCELLED"]).toContain(listCodes(tool)[0]);
  });
});
