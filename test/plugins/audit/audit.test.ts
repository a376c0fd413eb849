import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  createGateway,
  type Gateway,
  GatewayError,
  localTools,
  type Plugin,
  textResult,
} from "../../../core/mod.ts";
import { audit, memorySink } from "../../../plugins/audit/mod.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const secret = "sk-live-0123456789";

const box: Plugin = localTools("box", { id: "box" }, [
  { name: "echo", inputSchema: { type: "object" }, run: ({ text }) => textResult(String(text)) },
  { name: "broken", inputSchema: { type: "object" }, run: () => ({ ...textResult(secret), isError: true }) },
  {
    name: "crash",
    inputSchema: { type: "object" },
    run() {
      throw new Error(secret);
    },
  },
  {
    name: "outer",
    inputSchema: { type: "object" },
    async run(_args, { gateway, call }) {
      const inner = await gateway.run({ tool: "box:echo", parent: call });
      return inner.ok ? inner.result : textResult("");
    },
  },
]);

const guard: Plugin = {
  name: "guard",
  setup: () => ({
    policy(call) {
      if (call.args["deny"]) throw new GatewayError("DENIED", `No: ${secret}`, { data: { secret } });
    },
    async execute(call, next) {
      if (!call.args["cached"]) return next();
      call.result = textResult(secret);
      call.via = "cache";
    },
  }),
};

async function recorded(use: (gateway: Gateway) => Promise<unknown>) {
  const sink = memorySink();
  const gateway = await createGateway({ plugins: [audit({ sink }), guard, box] });
  await use(gateway);
  await gateway.close();
  return sink.records;
}

describe("a record", () => {
  test("says who called what, when, for how long and how it ended", async () => {
    const before = Date.now();
    const [, record] = await recorded((gateway) =>
      gateway.run({ tool: "box:echo", args: { text: "hi" }, actor: { id: "ada", scopes: ["all"] } }),
    );
    expect(record).toEqual({
      event: "outcome",
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      tool_id: "box:echo",
      actor_id: "ada",
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      params_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      outcome: "ok",
      stage: "execute",
      duration_ms: expect.any(Number),
      chain: expect.stringMatching(/^[0-9a-f]{16}$/),
      seq: 2,
      prev_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const began = Date.parse(record?.timestamp ?? "");
    expect(began).toBeGreaterThanOrEqual(before);
    expect(began).toBeLessThanOrEqual(Date.now());
    expect(record?.duration_ms).toBeGreaterThanOrEqual(0);
  });

  test.each([
    ["ok", "execute", "box:echo", {}],
    ["tool_error", "execute", "box:broken", {}],
    ["INTERNAL", "execute", "box:crash", {}],
    ["DENIED", "policy", "box:echo", { deny: true }],
    ["TOOL_NOT_FOUND", "resolve", "box:nothing", {}],
    ["INVALID_ARGUMENTS", "resolve", "box:echo", [secret]],
  ])("is written for a call that ends as %s in %s", async (outcome, stage, tool, args) => {
    const records = await recorded((gateway) => gateway.run({ tool, args }));
    const isExecuted = stage === "execute";
    expect(records.map(({ event }) => event)).toEqual(isExecuted ? ["intent", "outcome"] : ["denial"]);
    expect(records.at(-1)).toMatchObject({ outcome, stage, tool_id: tool, actor_id: "local" });
  });

  test("is written before a tool is executed, and says the same of the call as the one after", async () => {
    const sink = memorySink();
    const seen: unknown[] = [];
    const plugin = localTools("eye", { id: "eye" }, [
      {
        name: "look",
        inputSchema: { type: "object" },
        run() {
          seen.push(...sink.records);
          return textResult("");
        },
      },
    ]);
    const gateway = await createGateway({ plugins: [audit({ sink }), plugin] });
    await gateway.run({ tool: "eye:look", args: { a: 1 } });
    await gateway.close();
    const [intent, outcome] = sink.records;
    expect(seen).toEqual([intent]);
    expect(intent).toMatchObject({ event: "intent", outcome: "pending", stage: "execute", duration_ms: 0 });
    for (const field of ["request_id", "tool_id", "actor_id", "timestamp", "params_hash"] as const)
      expect(intent?.[field]).toBe(outcome?.[field]);
  });

  test("is written once before a tool that is tried again", async () => {
    const sink = memorySink();
    const again: Plugin = {
      name: "again",
      setup: () => ({
        async execute(_call, next) {
          await next();
          await next();
        },
      }),
    };
    const gateway = await createGateway({ plugins: [audit({ sink }), again, box] });
    await gateway.run({ tool: "box:echo" });
    await gateway.close();
    expect(sink.records.map(({ event }) => event)).toEqual(["intent", "outcome"]);
  });

  test("of a tool of the gateway itself is one", async () => {
    const sink = memorySink();
    const own = localTools("own", { id: "own", builtin: true }, [
      { name: "look", inputSchema: { type: "object" }, run: () => textResult("") },
    ]);
    const gateway = await createGateway({ plugins: [audit({ sink }), own] });
    await gateway.run({ tool: "own:look" });
    await gateway.close();
    expect(sink.records).toMatchObject([{ event: "outcome", outcome: "ok" }]);
  });

  test("holds no more of an id than a line", async () => {
    const [record] = await recorded((gateway) => gateway.run({ tool: "x".repeat(100_000) }));
    expect(record?.tool_id).toHaveLength(257);
  });

  test("is written for a call that was cancelled before it began", async () => {
    const signal = AbortSignal.abort();
    const records = await recorded((gateway) => gateway.run({ tool: "box:echo", signal }));
    expect(records[0]).toMatchObject({ outcome: "CANCELLED" });
  });

  test("names the plugin that answered instead of the tool", async () => {
    const records = await recorded((gateway) => gateway.run({ tool: "box:echo", args: { cached: true } }));
    expect(records).toMatchObject([{ event: "outcome", outcome: "ok", via: "cache" }]);
  });

  test("of an inner call names the call it was made for, and comes before it", async () => {
    const records = await recorded((gateway) => gateway.run({ tool: "box:outer" }));
    const [outerIntent, innerIntent, inner, outer] = records;
    expect(records).toHaveLength(4);
    for (const each of [innerIntent, inner])
      expect(each).toMatchObject({ tool_id: "box:echo", parent_id: outer?.request_id });
    for (const each of [outerIntent, outer]) expect(each).not.toHaveProperty("parent_id");
  });

  test("holds no arguments, no results, no metadata and no words of an error", async () => {
    const records = await recorded(async (gateway) => {
      const meta = { token: secret };
      for (const args of [{ text: secret }, { [secret]: 1 }, { cached: true }, { deny: true }, secret]) {
        await gateway.run({ tool: "box:echo", args, meta });
      }
      await gateway.run({ tool: "box:broken", meta });
      await gateway.run({ tool: "box:crash", meta });
    });
    expect(records).toHaveLength(11);
    expect(JSON.stringify(records)).not.toContain(secret);
  });
});

describe("the option", () => {
  test("file makes a file of records", async () => {
    const file = join(await temporaryFolder(), "audit.jsonl");
    const gateway = await createGateway({ plugins: [audit({ file }), box] });
    await Promise.all([1, 2, 3].map(() => gateway.run({ tool: "box:echo" })));
    await gateway.close();
    const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
    const outcomes = lines.map((line) => JSON.parse(line).outcome);
    expect(outcomes.toSorted()).toEqual(["closed", "ok", "ok", "ok", "pending", "pending", "pending"]);
  });

  test("sink wins over file", async () => {
    const folder = await temporaryFolder();
    const sink = memorySink();
    const gateway = await createGateway({ plugins: [audit({ sink, file: join(folder, "a") }), box] });
    await gateway.run({ tool: "box:echo" });
    await gateway.close();
    expect(sink.records).toHaveLength(2);
    await expect(readFile(join(folder, "a"))).rejects.toMatchObject({ code: "ENOENT" });
  });

  test.each([
    ["sink", { sink: {} }, "sink: expected an audit sink"],
    [
      "sink",
      { sink: null },
      "sink: expected an audit sink, the name of a driver, or the path of a module, found null",
    ],
    ["file", { file: 5 }, "file: expected string, found 5"],
    ["files", { files: "a" }, "files: there is no such option"],
  ])("%s is checked", (_name, options, message) => {
    expect(() => audit(options as never)).toThrow(message);
  });
});

test("the sink is closed with the gateway, after the record of a call that was still pending", async () => {
  const events: string[] = [];
  const sink = {
    write: async () => void events.push("write"),
    close: () => void events.push("close"),
  };
  const gateway = await createGateway({ plugins: [audit({ sink }), box] });
  const call = gateway.run({ tool: "box:outer" });
  await gateway.close();
  expect((await call).ok).toBe(true);
  expect(events).toEqual(["write", "write", "write", "write", "close"]);
});

test("a record that cannot be written costs no answer, is told to the error hook, and is no lasting harm", async () => {
  const folder = await temporaryFolder({ logs: "a file where a folder should be" });
  const file = join(folder, "logs/audit.jsonl");
  const errors: GatewayError[] = [];
  const listener: Plugin = { name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) };
  const gateway = await createGateway({ plugins: [audit({ file }), box, listener] });

  const lost = await gateway.run({ tool: "box:echo", args: { text: "hi" } });
  expect(lost.ok && lost.result).toEqual(textResult("hi"));
  await expect.poll(() => errors.length).toBe(1);
  expect(errors[0]).toMatchObject({ data: { plugin: "audit", hook: "audit" } });

  await rm(join(folder, "logs"));
  const kept = await gateway.run({ tool: "box:echo" });
  await gateway.close();
  expect(errors).toHaveLength(1);
  const lines = (await readFile(file, "utf8")).trimEnd().split("\n");
  const records = lines.map((line) => JSON.parse(line));
  expect(records[0]).toMatchObject({ event: "note", outcome: "records_lost" });
  expect(records.slice(-3)).toMatchObject([
    { event: "intent", request_id: kept.id },
    { event: "outcome", request_id: kept.id },
    { event: "note", outcome: "closed" },
  ]);
});

test("a sink that throws at once is no different", async () => {
  const errors: GatewayError[] = [];
  const sink = {
    write() {
      throw new Error(secret);
    },
    close() {},
  };
  const listener: Plugin = { name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) };
  const gateway = await createGateway({ plugins: [audit({ sink }), box, listener] });
  expect((await gateway.run({ tool: "box:echo" })).ok).toBe(true);
  await gateway.close();
  expect(errors).toHaveLength(1);
  expect(errors[0]?.message).not.toContain(secret);
});

test("the code of arguments is that of what was executed, whatever becomes of the object afterwards", async () => {
  const file = join(await temporaryFolder(), "audit.jsonl");
  const tool = {
    name: "t",
    inputSchema: { type: "object" },
    run(args: Record<string, unknown>) {
      args["self"] = args;
      return textResult("");
    },
  };
  const gateway = await createGateway({ plugins: [audit({ file }), localTools("s", { id: "s" }, [tool])] });
  for (const path of ["a", "b"]) await gateway.run({ tool: "s:t", args: { path } });
  const reused: Record<string, unknown> = {};
  for (const path of ["a", "b"]) {
    delete reused["self"];
    reused["path"] = path;
    await gateway.run({ tool: "s:t", args: reused });
  }
  await gateway.close();
  const records = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { event: string; params_hash: string })
    .filter(({ event }) => event !== "note");
  const codes = records.map(({ params_hash }) => params_hash);
  const [a, , b] = codes;
  expect(a).not.toBe(b);
  expect(codes).toEqual([a, a, b, b, a, a, b, b]);
  expect(records.map(({ event }) => event)).toEqual(Array(4).fill(["intent", "outcome"]).flat());
});

test("calls with the same notes are recorded each for itself", async () => {
  const sink = memorySink();
  const tool = { name: "t", inputSchema: { type: "object" }, run: () => textResult("") };
  const gateway = await createGateway({ plugins: [audit({ sink }), localTools("s", { id: "s" }, [tool])] });
  const notes = {};
  for (const path of ["a", "b"]) await gateway.run({ tool: "s:t", args: { path }, notes });
  await gateway.close();
  expect(sink.records.map(({ event }) => event)).toEqual(["intent", "outcome", "intent", "outcome"]);
  expect(new Set(sink.records.map(({ params_hash }) => params_hash)).size).toBe(2);
});

describe("a sink by name or path", () => {
  test("is a module, with options of its own", async () => {
    const folder = await temporaryFolder({
      "my-sink.mjs": `
        import { appendFile } from "node:fs/promises";
        export default ({ file }) => ({
          write: (record) => appendFile(file, record.tool_id + " " + record.outcome + "\\n"),
          close() {},
        });`,
    });
    const file = join(folder, "records.txt");
    const sink = { type: join(folder, "my-sink.mjs"), file };
    const gateway = await createGateway({ plugins: [audit({ sink }), box] });
    await gateway.run({ tool: "box:echo", args: { text: "hi" } });
    await gateway.close();
    expect(await readFile(file, "utf8")).toBe("box:echo pending\nbox:echo ok\n");
  });

  test("is a file", async () => {
    const file = join(await temporaryFolder(), "audit.jsonl");
    const gateway = await createGateway({ plugins: [audit({ sink: { type: "file", file } }), box] });
    await gateway.run({ tool: "box:echo" });
    await gateway.close();
    expect((await readFile(file, "utf8")).trim().split("\n")).toHaveLength(3);
  });

  test("that creates no sink, or is not there, ends the start", async () => {
    const folder = await temporaryFolder({ "wrong.mjs": "export default () => ({});" });
    const open = (sink: string) => createGateway({ plugins: [audit({ sink })] });
    await expect(open(join(folder, "wrong.mjs"))).rejects.toThrow("did not create an audit sink");
    await expect(open("memry")).rejects.toThrow('There is no auditSink "memry"; did you mean "memory"?');
  });
});
