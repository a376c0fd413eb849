import { describe, expect, test } from "vitest";
import {
  type Call,
  definePreset,
  type JsonObject,
  localTools,
  type MetaTool,
  type Plugin,
  type ToolAnnotations,
  type ToolResult,
  textResult,
} from "../../../core/mod.ts";
import { audit, type MemorySink, memorySink } from "../../../plugins/audit/mod.ts";
import { ask, askModern, beginSession, send, serveGateway, until } from "../../plugins/serve/_http.ts";
import { connectStdio } from "../../plugins/serve/_stdio.ts";

/** A server whose one tool answers when it is told to, as a real one that has begun to do something. */
function press(annotations: ToolAnnotations): {
  plugin: Plugin;
  calls: Call[];
  answer: (result: ToolResult) => void;
} {
  const calls: Call[] = [];
  let answer: (result: ToolResult) => void = () => {};
  const plugin = localTools("press", { id: "press" }, [
    {
      name: "print",
      inputSchema: { type: "object" },
      annotations,
      run(_args, { call }) {
        calls.push(call);
        return new Promise((resolve, reject) => {
          answer = resolve;
          call.signal.addEventListener("abort", () => reject(call.signal.reason));
        });
      },
    },
  ]);
  return { plugin, calls, answer: (result) => answer(result) };
}

const execute: MetaTool = {
  name: "execute",
  inputSchema: { type: "object" },
  async run(_args, { gateway, call }) {
    const inner = await gateway.run({ tool: "press:print", parent: call });
    if (!inner.ok) throw inner.error;
    return inner.result;
  },
};

function config(plugin: Plugin, tools: readonly MetaTool[]) {
  const sink = memorySink();
  return { preset: definePreset({ name: "own", plugins: [audit({ sink }), plugin], tools }), sink };
}

/** Audit records of finished calls. */
function over({ records }: MemorySink): MemorySink["records"] {
  return records.filter(({ event }) => event === "outcome");
}

function outcomes(sink: MemorySink): string[] {
  return over(sink).map(({ tool_id, outcome }) => `${tool_id} ${outcome}`);
}

const effects = [
  ["says nothing of itself", {}],
  ["says that it does more than read", { readOnlyHint: false }],
] as const;

describe.each([
  ["legacy", ask],
  ["modern", askModern],
] as const)(
  "fault 44: a client of the %s protocol that goes away in the middle of a call",
  (_protocol, asking) => {
    test.each([
      ["directly", "print", []],
      ["through a tool of the gateway", "execute", [execute]],
    ] as const)("of a tool that only reads, %s, has it cancelled", async (_how, name, tools) => {
      const { plugin, calls } = press({ readOnlyHint: true });
      const { sink, ...given } = config(plugin, tools);
      const { url } = await serveGateway(given);
      const gone = new AbortController();
      const response = asking(url, "tools/call", { name }, { signal: gone.signal });
      await until(() => calls.length === 1);
      gone.abort();
      await expect(response).rejects.toThrow();
      await until(() => over(sink).length === 1 + tools.length);
      expect(calls[0]?.signal.aborted).toBe(true);
      expect(outcomes(sink)).toContain("press:print CANCELLED");
    });

    test.each(effects)(
      "of a tool that %s, lets it finish, and it is recorded as it ends",
      async (_what, hints) => {
        for (const [name, tools] of [
          ["print", []],
          ["execute", [execute]],
        ] as const) {
          const { plugin, calls, answer } = press(hints);
          const { sink, ...given } = config(plugin, tools);
          const { url } = await serveGateway(given);
          const gone = new AbortController();
          const response = asking(url, "tools/call", { name }, { signal: gone.signal });
          await until(() => calls.length === 1);
          gone.abort();
          await expect(response).rejects.toThrow();
          // Another request is answered meanwhile, so that the going of the first has been noticed.
          await (await asking(url, "tools/list")).text();
          await new Promise((resolve) => setTimeout(resolve, 50));
          expect(calls[0]?.signal.aborted).toBe(false);
          expect(over(sink)).toEqual([]);
          answer(textResult("printed"));
          await until(() => over(sink).length === 1 + tools.length);
          expect(outcomes(sink)).toEqual(["press:print ok", ...tools.map(() => "own:execute ok")]);
        }
      },
    );

    test("has it recorded as cancelled where the gateway closes before it ends", async () => {
      const { plugin, calls } = press({});
      const { sink, ...given } = config(plugin, []);
      const server = await serveGateway(given);
      const gone = new AbortController();
      const response = asking(server.url, "tools/call", { name: "print" }, { signal: gone.signal });
      await until(() => calls.length === 1);
      gone.abort();
      await expect(response).rejects.toThrow();
      await server.close({ drainMs: 20 });
      expect(outcomes(sink)).toEqual(["press:print CLOSED"]);
    });
  },
);

describe("fault 44: a client that takes its request back", () => {
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };

  test.each([["only reads", { readOnlyHint: true }] as const, ...effects])(
    "has a tool cancelled that %s: it is what its user wants",
    async (_what, hints) => {
      const { plugin, calls } = press(hints);
      const { sink, ...given } = config(plugin, []);
      const client = await connectStdio(given);
      client.write(
        `${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "print" } })}\n`,
      );
      await until(() => calls.length === 1);
      client.write(`${JSON.stringify(cancelled)}\n`);
      await until(() => over(sink).length === 1);
      expect(calls[0]?.signal.aborted).toBe(true);
      expect(outcomes(sink)).toEqual(["press:print CANCELLED"]);
    },
  );

  test("does so over HTTP too, by its session", async () => {
    const { plugin, calls } = press({});
    const { sink, ...given } = config(plugin, []);
    const { url } = await serveGateway(given);
    const headers = await beginSession(url);
    const response = ask(url, "tools/call", { name: "print" }, { headers });
    await until(() => calls.length === 1);
    await send(url, cancelled, { headers });
    await until(() => over(sink).length === 1);
    expect(outcomes(sink)).toEqual(["press:print CANCELLED"]);
    await (await response).text();
  });
});

test("only so many calls go on without their clients; what is beyond is cancelled", async () => {
  const { plugin, calls } = press({});
  const { sink, ...given } = config(plugin, []);
  const { url } = await serveGateway(given);
  const gone = new AbortController();
  const all = Array.from({ length: 105 }, () =>
    ask(url, "tools/call", { name: "print" } satisfies JsonObject, { signal: gone.signal }).catch(() => {}),
  );
  await until(() => calls.length === 105, 15_000);
  gone.abort();
  await Promise.all(all);
  await until(() => over(sink).length === 5);
  expect(new Set(outcomes(sink))).toEqual(new Set(["press:print CANCELLED"]));
  expect(calls.filter(({ ended }) => !ended)).toHaveLength(100);
});
