import { PassThrough } from "node:stream";
import {
  Client as ModernClient,
  StreamableHTTPClientTransport as ModernHttp,
} from "@modelcontextprotocol/client";
import { Client as LegacyClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as LegacyHttp } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { describe, expect, onTestFinished, test } from "vitest";
import { definePreset, type JsonObject, localTools, type Preset, textResult } from "../../../core/mod.ts";
import { requestMeta } from "../../../core/services/policy.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import { type GuardOptions, guard } from "../../../plugins/guard/mod.ts";
import { memoryStore } from "../../../plugins/lib/memory-store.ts";
import { type ClientLimits, serveStdio } from "../../../plugins/serve/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import { timeout } from "../../../plugins/timeout.ts";
import { ask, beginSession, serveGateway, streamMessages } from "../../plugins/serve/_http.ts";

interface Bank {
  readonly preset: Preset;
  /** The side effects. */
  readonly effects: JsonObject[];
  /** Makes the tool another one. */
  change(): Promise<void>;
}

function bank(options: GuardOptions = {}): Bank {
  const effects: JsonObject[] = [];
  let change = async (): Promise<void> => {};
  const account = {
    name: "delete_account",
    description: "Deletes an account.",
    inputSchema: { type: "object", properties: { amount: { type: "integer" } } },
    run(args: JsonObject) {
      effects.push(args);
      return textResult(`deleted ${effects.length}`);
    },
  };
  const preset = definePreset({
    name: "bank",
    plugins: [
      state({ store: memoryStore() }),
      approvals(),
      guard(options),
      timeout({ ms: 5_000 }),
      localTools("bank", { id: "bank" }, [account]),
      {
        name: "changer",
        setup(gateway) {
          change = async () => {
            await gateway.catalog.replace({ id: "bank" }, [
              { ...account, description: "Deletes everything." },
            ]);
          };
        },
      },
    ],
  });
  return { preset, effects, change: () => change() };
}

/** The answer of the user to a question. */
type Person = (params: JsonObject) => JsonObject | Promise<JsonObject>;

/** Connects a client to a server whose other end is at two streams, as a process has them. */
async function streams(preset: Preset, clientLimits: Partial<ClientLimits>): Promise<Transport> {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const server = await serveStdio({ preset }, { input, output }, { clientLimits });
  onTestFinished(() => server.close({ drainMs: 0 }));
  let rest = "";
  const transport: Transport = {
    async start() {
      output.on("data", (chunk: Buffer) => {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) transport.onmessage?.(JSON.parse(line));
      });
    },
    async send(message) {
      input.write(`${JSON.stringify(message)}\n`);
    },
    async close() {
      transport.onclose?.();
    },
  };
  return transport;
}

type Connect = (
  preset: Preset,
  over: "stdio" | "HTTP",
  person: Person | undefined,
  clientLimits?: Partial<ClientLimits>,
) => Promise<(amount: number) => Promise<JsonObject>>;

const legacy: Connect = async (preset, over, person, clientLimits = {}) => {
  const capabilities = person ? { elicitation: {} } : {};
  const client = new LegacyClient({ name: "legacy", version: "1.0.0" }, { capabilities });
  if (person) {
    client.setRequestHandler(ElicitRequestSchema, async ({ params }) => (await person(params)) as never);
  }
  const transport =
    over === "stdio"
      ? await streams(preset, clientLimits)
      : (new LegacyHttp(new URL((await serveGateway({ preset }, { clientLimits })).url)) as Transport);
  await client.connect(transport);
  onTestFinished(() => client.close());
  return async (amount) =>
    (await client.callTool({ name: "delete_account", arguments: { amount } })) as JsonObject;
};

const modern =
  (mode: "auto" | "legacy" | { readonly pin: string }): Connect =>
  async (preset, over, person, clientLimits = {}) => {
    const client = new ModernClient(
      { name: "modern", version: "1.0.0" },
      { versionNegotiation: { mode }, capabilities: person ? { elicitation: { form: {} } } : {} },
    );
    if (person) {
      client.setRequestHandler("elicitation/create", async ({ params }) => (await person(params)) as never);
    }
    const transport =
      over === "stdio"
        ? await streams(preset, clientLimits)
        : new ModernHttp(new URL((await serveGateway({ preset }, { clientLimits })).url));
    await client.connect(transport as never);
    onTestFinished(() => client.close());
    expect(client.getProtocolEra()).toBe(mode === "legacy" ? "legacy" : "modern");
    return async (amount) =>
      (await client.callTool({ name: "delete_account", arguments: { amount } })) as JsonObject;
  };

const clients: [string, Connect][] = [
  ["made with the older SDK", legacy],
  ["made with the newer SDK that speaks the legacy protocol", modern("legacy")],
  ["made with the newer SDK that knows only the modern protocol", modern({ pin: "2026-07-28" })],
];
const yes = { action: "accept", content: { confirm: true } };

describe.each(
  clients.flatMap(([who, connect]) => [[who, "stdio", connect] as const, [who, "HTTP", connect] as const]),
)("a client %s, over %s", (_who, over, connect) => {
  test("asks its person before something is done that needs a yes, and it is done once they say it", async () => {
    const { preset, effects } = bank();
    const questions: JsonObject[] = [];
    const remove = await connect(preset, over, (params) => {
      questions.push(params);
      expect(effects).toEqual([]);
      return yes;
    });
    expect(await remove(7)).toMatchObject({ content: [{ text: "deleted 1" }] });
    expect(effects).toEqual([{ amount: 7 }]);
    expect(questions).toMatchObject([
      {
        message: expect.stringContaining('"bank:delete_account" be called with {"amount":7}'),
        requestedSchema: { properties: { confirm: { type: "boolean" } } },
      },
    ]);
  });

  test.each([
    ["says no", { action: "decline" }],
    ["closes the question", { action: "cancel" }],
    ["leaves the box empty", { action: "accept", content: { confirm: false } }],
  ])("does nothing where the person %s", async (_what, answer) => {
    const { preset, effects } = bank();
    const remove = await connect(preset, over, () => answer);
    const result = await remove(7);
    expect(result).toMatchObject({ isError: true });
    expect(JSON.stringify(result)).toContain("The user did not agree");
    expect(effects).toEqual([]);
  });

  test("is asked for each call: a yes is for one call with its arguments", async () => {
    const { preset, effects } = bank();
    let asked = 0;
    const remove = await connect(preset, over, () => (++asked === 1 ? yes : { action: "decline" }));
    await remove(1);
    expect(await remove(2)).toMatchObject({ isError: true });
    expect(asked).toBe(2);
    expect(effects).toEqual([{ amount: 1 }]);
  });

  test("has not said yes to a tool that changed meanwhile", async () => {
    const { preset, effects, change } = bank();
    const remove = await connect(preset, over, async () => {
      await change();
      return yes;
    });
    expect(JSON.stringify(await remove(1))).toContain("has changed since the user was asked");
    expect(effects).toEqual([]);
  });

  test("that cannot ask gets a refusal with a token", async () => {
    const { preset, effects } = bank();
    const remove = await connect(preset, over, undefined);
    expect(await remove(1)).toMatchObject({ isError: true });
    expect(effects).toEqual([]);
  });
});

describe.each([
  ["the legacy protocol", modern("legacy")],
  ["the modern protocol", modern({ pin: "2026-07-28" })],
])("a client that does not answer, in %s", (_protocol, connect) => {
  test.each(["stdio", "HTTP"] as const)("lets the call end without anything done, over %s", async (over) => {
    const { preset, effects } = bank();
    let release: () => void = () => {};
    const asked = new Promise<void>((resolve) => {
      release = resolve;
    });
    const remove = await connect(preset, over, () => asked.then(() => yes), { answerMs: 100 });
    const removed = remove(1).catch((thrown: unknown) => thrown);
    // In the modern protocol it is the client that waits, and comes back too late.
    setTimeout(release, 1_000);
    const outcome = await removed;
    const isLate = outcome instanceof Error ? outcome.message : JSON.stringify(outcome);
    expect(isLate).toMatch(/too old|did not answer/);
    expect(effects).toEqual([]);
  });
});

test("fault 79: a call under a session from before a restart is not made unasked, whatever it says of a confirmation", async () => {
  const { preset, effects } = bank();
  const first = await serveGateway({ preset });
  const headers = await beginSession(first.url, { elicitation: {} });
  await first.close();
  const second = await serveGateway({ preset }, { port: Number(new URL(first.url).port) });
  const params = {
    name: "delete_account",
    arguments: { amount: 7 },
    _meta: { [requestMeta.confirmed]: true },
  };
  expect((await ask(second.url, "tools/call", params, { headers })).status).toBe(404);
  expect(effects).toEqual([]);
  // The client that begins another session is asked again.
  const renewed = await beginSession(second.url, { elicitation: {} });
  const response = await ask(second.url, "tools/call", params, { headers: renewed });
  const { value: question } = await streamMessages(response).next();
  expect(question).toMatchObject({ method: "elicitation/create" });
  expect(effects).toEqual([]);
});
