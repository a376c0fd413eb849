import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  createGateway,
  definePreset,
  type JsonObject,
  localTools,
  type Plugin,
  textResult,
} from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { createMcpServer, createView, servePlugin } from "../../../plugins/serve/mod.ts";
import { timeout } from "../../../plugins/timeout.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { askModern, modernMeta, readAnswer, serveGateway, until } from "../../plugins/serve/_http.ts";
import { connectStdio, type StdioClient } from "../../plugins/serve/_stdio.ts";
import { type Asker, asker, form, listCodes } from "../../support/asker.ts";

const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const meta = { ...modernMeta, "io.modelcontextprotocol/clientCapabilities": capabilities };
const call = { name: "greet", arguments: { to: "me" }, _meta: meta };
const accepted = { action: "accept", content: { name: "Ada" } };

interface Questions {
  readonly resultType: string;
  readonly inputRequests: Record<string, { method: string; params: JsonObject }>;
  readonly requestState: string;
}

async function asked(client: StdioClient, params: object = call): Promise<Questions> {
  const { result } = await client.request("tools/call", params);
  expect(result).toMatchObject({ resultType: "input_required" });
  return result as Questions;
}

/** Repeats a request with an answer to every question. */
function retry({ inputRequests, requestState }: Questions, answer: object = accepted): JsonObject {
  const inputResponses = Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answer]));
  return { ...call, inputResponses, requestState };
}

const bothAtOnce = (): Asker =>
  asker((client) => Promise.all([client.ask("elicitation/create", form), client.ask("roots/list", {})]));

describe("a call that asks a modern client", () => {
  test("is answered with the question, and goes on when the client comes back", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset });
    const questions = await asked(client);
    expect(questions).toEqual({
      resultType: "input_required",
      inputRequests: expect.any(Object),
      requestState: expect.stringMatching(/^toolpipe:[\w-]{32}$/),
      _meta: { "io.modelcontextprotocol/serverInfo": expect.anything() },
    });
    expect(Object.values(questions.inputRequests)).toEqual([{ method: "elicitation/create", params: form }]);
    const { result } = await client.request("tools/call", retry(questions));
    expect(result).toMatchObject({ resultType: "complete", ...textResult(JSON.stringify(accepted)) });
    expect(tool.client()).toMatchObject({ protocol: "modern", capabilities });
    // It never asks by a request of its own.
    expect(client.messages.filter(({ method }) => method)).toEqual([]);
  });

  test("asks over HTTP, where each request comes by itself", async () => {
    const { url } = await serveGateway({ preset: asker().preset });
    const first = (await readAnswer(askModern(url, "tools/call", call)))["result"] as Questions;
    const { result } = await readAnswer(askModern(url, "tools/call", retry(first)));
    expect(result).toMatchObject(textResult(JSON.stringify(accepted)));
  });

  test("asks all at once that it wants to know at once, and what was not answered once more", async () => {
    const client = await connectStdio({ preset: bothAtOnce().preset });
    const first = await asked(client);
    const [[form1], [roots]] = Object.entries(first.inputRequests) as [[string, object], [string, object]];
    const answers = {
      [form1]: accepted,
      [roots]: { method: "roots/list", result: { roots: [] } },
      other: {},
    };
    const second = await asked(client, {
      ...call,
      requestState: first.requestState,
      inputResponses: answers,
    });
    expect(second.inputRequests).toEqual({ [roots]: { method: "roots/list", params: {} } });
    const third = await asked(client, {
      ...call,
      requestState: second.requestState,
      inputResponses: "nothing",
    });
    expect(third.inputRequests).toEqual(second.inputRequests);
    const last = {
      ...call,
      requestState: third.requestState,
      inputResponses: { [roots]: { roots: [] }, [form1]: { action: "decline" } },
    };
    expect((await client.request("tools/call", last))["result"]).toMatchObject(
      textResult(JSON.stringify([accepted, { roots: [] }])),
    );
  });

  test("gets each answer where it was asked for, in however many turns they come", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(3), { minLength: 1, maxLength: 6 }), async (roundOf) => {
        const tool = asker((client) =>
          Promise.all(roundOf.map((_, index) => client.ask("elicitation/create", { ...form, index }))),
        );
        const client = await connectStdio({ preset: tool.preset });
        let { result } = await client.request("tools/call", call);
        for (let round = 0; (result as Questions).resultType === "input_required"; round++) {
          const { inputRequests, requestState } = result as Questions;
          const given = Object.entries(inputRequests).filter(
            ([, { params }]) => (roundOf[Number(params["index"])] as number) <= round,
          );
          const inputResponses = Object.fromEntries(
            given.map(([key, { params }]) => [key, { action: "accept", content: { of: params["index"] } }]),
          );
          ({ result } = await client.request("tools/call", { ...call, inputResponses, requestState }));
        }
        const all = roundOf.map((_, index) => ({ action: "accept", content: { of: index } }));
        expect(tool.heard).toEqual([all]);
      }),
      { numRuns: 15 },
    );
  });

  test("asks one question after another", async () => {
    const tool = asker(async (client) => [
      await client.ask("elicitation/create", form),
      await client.ask("elicitation/create", { mode: "url", url: "https://a.example", elicitationId: "x" }),
    ]);
    const client = await connectStdio({ preset: tool.preset });
    const first = await asked(client);
    const second = await asked(client, retry(first));
    // The modern protocol has no such ids.
    expect(Object.values(second.inputRequests)).toEqual([
      { method: "elicitation/create", params: { mode: "url", url: "https://a.example" } },
    ]);
    expect(second.requestState).not.toBe(first.requestState);
    await client.request("tools/call", retry(second));
    expect(listCodes(tool)).toEqual(["answered"]);
  });

  test("is not found by another request, or by that of another actor", async () => {
    const tool = asker();
    const view = createView();
    const gateway = await createGateway({ preset: tool.preset, plugins: [servePlugin(view)] });
    view.show(gateway);
    const server = createMcpServer({ view });
    const sendRequest = async (actor: string, params: object): Promise<JsonObject> =>
      new Promise((send) => {
        const connection = server.connect({
          actor: { id: actor, scopes: [] },
          send: (message) => send(message as JsonObject),
        });
        connection.receive({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
      });
    const questions = (await sendRequest("ada", call))["result"] as Questions;
    const again = retry(questions);
    const others: [string, object][] = [
      ["eve", again],
      ["ada", { ...again, arguments: { to: "you" } }],
      ["ada", { ...again, name: "other" }],
    ];
    for (const [actor, params] of others) {
      const { error } = await sendRequest(actor, params);
      expect(error).toMatchObject({ code: -32602, data: { reason: "invalid_request_state" } });
      expect((error as Error).message).toMatch(/belongs to another request/);
    }
    expect(tool.heard).toEqual([]);
    expect((await sendRequest("ada", again))["result"]).toMatchObject({ resultType: "complete" });
    expect((await sendRequest("ada", again))["error"]).toMatchObject({ code: -32602 });
    await gateway.close();
  });

  test("is found by no state that was not given out", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset });
    const questions = await asked(client);
    const { requestState } = questions;
    await fc.assert(
      fc.asyncProperty(
        fc.nat(requestState.length - 1).filter((at) => at >= "toolpipe:".length),
        fc.constantFrom(..."abcXYZ019-_="),
        async (at, letter) => {
          const tampered = requestState.slice(0, at) + letter + requestState.slice(at + 1);
          if (tampered === requestState) return;
          const { error } = await client.request("tools/call", {
            ...retry(questions),
            requestState: tampered,
          });
          expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/is not known/) });
        },
      ),
      { numRuns: 50 },
    );
    const wrong = await client.request("tools/call", { ...retry(questions), requestState: 7 });
    expect(wrong["error"]).toMatchObject({ code: -32602 });
    expect(tool.heard).toEqual([]);
  });

  test("is cancelled when its client does not come back in time, and its state is too old then", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset }, { clientLimits: { answerMs: 20 } });
    const questions = await asked(client);
    await until(() => tool.heard.length === 1);
    expect(listCodes(tool)).toEqual(["CLIENT_SILENT"]);
    const { error } = await client.request("tools/call", retry(questions));
    expect(error).toMatchObject({ code: -32602, message: expect.stringMatching(/too old/) });
  });

  test("fails where too many wait already", async () => {
    const tool = asker();
    const client = await connectStdio({ preset: tool.preset }, { clientLimits: { suspended: 1 } });
    const questions = await asked(client);
    expect((await client.request("tools/call", call))["result"]).toMatchObject({ isError: true });
    expect(listCodes(tool)).toEqual(["QUESTIONS_FULL"]);
    await client.request("tools/call", retry(questions));
    await asked(client);
  });

  test("ends when the gateway closes, or the client has gone", async () => {
    for (const leave of ["close", "end"] as const) {
      const tool = asker();
      const client = await connectStdio({ preset: tool.preset });
      await asked(client);
      if (leave === "end") client.end();
      else await client.server.close();
      await until(() => tool.heard.length === 1);
      expect(listCodes(tool)).toEqual(["CLOSED"]);
    }
  });

  test("fails by the error that the modern protocol has for it where the client cannot be asked", async () => {
    const { url } = await serveGateway({ preset: asker().preset });
    const response = await askModern(url, "tools/call", { ...call, _meta: modernMeta });
    expect(response.status).toBe(400);
    const required = { requiredCapabilities: { elicitation: { form: {} } } };
    expect((await readAnswer(response))["error"]).toMatchObject({ code: -32021, data: required });
  });

  test("goes on, but can ask no client, where its client has gone in the middle and it changes something", async () => {
    let proceed: () => void = () => {};
    let started = 0;
    const tool = asker(async (client) => {
      started++;
      await new Promise<void>((resolve) => {
        proceed = resolve;
      });
      return client.ask("elicitation/create", form);
    }, false);
    const { url } = await serveGateway({ preset: tool.preset });
    const abort = new AbortController();
    const called = askModern(url, "tools/call", call, { signal: abort.signal }).catch(() => {});
    await until(() => started === 1);
    abort.abort();
    await called;
    await until(() => tool.client()?.can("elicitation") === false);
    proceed();
    await until(() => tool.heard.length === 1);
    expect(listCodes(tool)).toEqual(["CLIENT_LEFT"]);
  });

  test("tells its progress and its messages to the request that is open at the time", async () => {
    const tool = localTools("teller", { id: "teller" }, [
      {
        name: "greet",
        inputSchema: {},
        async run(_args, { gateway, call: own }) {
          const client = gateway.services.clients?.get(own);
          own.report({ progress: 1 });
          await client?.ask("elicitation/create", form);
          own.report({ progress: 2 });
          client?.notify("notifications/message", { level: "debug", data: "low" });
          client?.notify("notifications/message", { level: "error", data: "high" });
          return textResult("done");
        },
      },
    ]);
    const client = await connectStdio({ preset: definePreset({ name: "telling", plugins: [tool] }) });
    const questions = await asked(client, { ...call, _meta: { ...meta, progressToken: "one" } });
    const more = { "io.modelcontextprotocol/logLevel": "warning", progressToken: "two" };
    await client.request("tools/call", { ...retry(questions), _meta: { ...meta, ...more } });
    expect(client.messages.filter(({ method }) => method).map(({ params }) => params)).toEqual([
      { progressToken: "one", progress: 1 },
      { progressToken: "two", progress: 2 },
      { level: "error", data: "high" },
    ]);
  });
});

describe("the time that a user takes", () => {
  const options = { audit: { sink: memorySink() }, cache: { enabled: false }, results: { waitMs: 400 } };
  const execute = { name: "execute_tool", arguments: { server: "asker", tool: "greet", arguments: {} } };

  test("is not the tool's: neither its limit nor the wait for a long call counts it, and the answer is the result", async () => {
    const tool = asker();
    const client = await connectStdio({
      preset: anygpt,
      plugins: [tool.plugin],
      options: { ...options, timeout: { ms: 300 } },
    });
    const params = { ...execute, _meta: meta };
    const questions = await asked(client, params);
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(tool.heard).toEqual([]);
    const { result } = await client.request("tools/call", { ...retry(questions), ...params });
    expect(result).toMatchObject(textResult(JSON.stringify(accepted)));
  });

  test("is not asked for once the call is answered with a link", async () => {
    let proceed: () => void = () => {};
    const waited = new Promise<void>((resolve) => {
      proceed = resolve;
    });
    const tool = asker(async (client) => {
      await waited;
      return client.ask("elicitation/create", form);
    });
    const client = await connectStdio({ preset: anygpt, plugins: [tool.plugin], options });
    for (const _meta of [meta, {}]) {
      if (_meta !== meta) await client.request("initialize", { capabilities });
      const { result } = await client.request("tools/call", { ...execute, _meta });
      expect(JSON.stringify(result)).toContain("still running");
    }
    proceed();
    await until(() => tool.heard.length === 2);
    expect(listCodes(tool)).toEqual(["CLIENT_LEFT", "CLIENT_LEFT"]);
  });

  test("counts again once it has answered", async () => {
    const tool = asker(async (client) => {
      await client.ask("elicitation/create", form);
      await new Promise(() => {});
    });
    const preset = definePreset({ name: "timed", plugins: [timeout({ ms: 500 }), tool.plugin] });
    const client = await connectStdio({ preset });
    const answer = await client.request("tools/call", retry(await asked(client)));
    expect(JSON.stringify(answer)).toContain("TOOL_EXECUTION_TIMEOUT");
  });
});

describe("questions of a server behind the gateway", () => {
  const inputRequests = { name: { method: "elicitation/create", params: form } };
  const inputs: unknown[] = [];
  const upstream = (requestState: unknown, requests: unknown = inputRequests): Plugin =>
    localTools("upstream", { id: "upstream" }, [
      {
        name: "greet",
        inputSchema: {},
        run(_args, { call: own }) {
          inputs.push(own.input);
          return own.input
            ? textResult("done")
            : { content: [], resultType: "input_required", inputRequests: requests, requestState };
        },
      },
    ]);
  const preset = (plugin: Plugin) => definePreset({ name: "through", plugins: [plugin] });

  test.each(["their own", "toolpipe:looks-like-ours", "toolpipe:~marked", ""])(
    "are handed to the client, and its answers to the server, with the state %j as it was",
    async (state) => {
      inputs.length = 0;
      const client = await connectStdio({ preset: preset(upstream(state)) });
      const { result } = await client.request("tools/call", call);
      expect(result).toEqual({
        resultType: "input_required",
        inputRequests,
        requestState: state.startsWith("toolpipe:") ? `toolpipe:~${state}` : state,
        _meta: expect.anything(),
      });
      const inputResponses = { name: accepted, other: { odd: true } };
      const again = { ...call, inputResponses, requestState: (result as Questions).requestState };
      expect((await client.request("tools/call", again))["result"]).toMatchObject(textResult("done"));
      expect(inputs).toEqual([undefined, { responses: inputResponses, state }]);
    },
  );

  test("pass through the five tools as well, uncut", async () => {
    inputs.length = 0;
    const sink = memorySink();
    const client = await connectStdio({
      preset: anygpt,
      plugins: [upstream("s".repeat(50_000))],
      options: { audit: { sink }, cache: { enabled: false }, results: { maxBytes: 20_000 } },
    });
    const params = {
      name: "execute_tool",
      arguments: { server: "upstream", tool: "greet", arguments: {} },
      _meta: meta,
    };
    const questions = await asked(client, params);
    expect(questions.requestState).toHaveLength(50_000);
    await client.request("tools/call", { ...retry(questions), ...params });
    expect(inputs).toEqual([undefined, { responses: { name: accepted }, state: questions.requestState }]);
  });

  test("are not handed to a client that cannot answer them", async () => {
    const client = await connectStdio({ preset: preset(upstream("s")) });
    const { error } = await client.request("tools/call", { ...call, _meta: modernMeta });
    expect(error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { elicitation: { form: {} } } },
    });
    const { result } = await client.request("tools/call", { ...call, _meta: {} });
    expect(result).toMatchObject({ isError: true });
  });

  test.each([
    ["nothing at all", undefined, {}],
    ["no thing", undefined, null],
    ["something that is no question", "s", { name: "what?" }],
    ["what no client can be asked for", "s", { name: { method: "tools/call", params: {} } }],
    ["a list", "s", []],
  ])("that ask %s are an error of the server", async (_what, state, requests) => {
    const tool = upstream(state, requests);
    const client = await connectStdio({ preset: preset(tool) });
    expect((await client.request("tools/call", call))["error"]).toMatchObject({ code: -32603 });
  });
});
