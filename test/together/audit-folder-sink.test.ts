import { mkdir, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import {
  createGateway,
  type Gateway,
  type GatewayError,
  localTools,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { audit, folderSink } from "../../plugins/audit/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { anygpt, createDiscoveryEngine } from "../../presets/anygpt/mod.ts";
import { testAuditSink } from "../contracts/audit-sink.ts";
import { runMain } from "../support/run-cli.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

testAuditSink("folderSink", async () => {
  const sink = folderSink({
    folder: join(await temporaryFolder(), "deep/down"),
    keepDays: 30,
    maxBytes: 1_000,
  });
  return {
    sink,
    async read() {
      const text = await readFile(sink.file, "utf8").catch(() => "");
      return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
    },
  };
});

const secret = "sk-live-0123456789";
const box: Plugin = localTools("box", { id: "box" }, [
  { name: "echo", inputSchema: { type: "object" }, run: ({ text }) => textResult(String(text)) },
]);

let home: string;
let folder: string;
beforeEach(async () => {
  home = await temporaryFolder();
  folder = join(home, "state", "audit");
  vi.stubEnv("TOOLPIPE_HOME", home);
  onTestFinished(() => void vi.unstubAllEnvs());
});

/** Reads the records of calls; those that close a chain are left out. */
async function readRecords(place: string): Promise<{ tool_id: string; outcome: string }[]> {
  const texts = await Promise.all((await readdir(place)).map((name) => readFile(join(place, name), "utf8")));
  return texts
    .flatMap((text) => text.trimEnd().split("\n"))
    .map((line) => JSON.parse(line))
    .filter(({ event }) => event !== "note");
}

async function executed(gateway: Gateway): Promise<void> {
  await gateway.run({ tool: "box:echo", args: { text: secret } });
  await gateway.close();
}

describe("without options, records go to a file of the state folder", () => {
  test("that only its owner can read, without arguments and results", async () => {
    await executed(await createGateway({ plugins: [audit(), box] }));
    const [name = "", ...more] = await readdir(folder);
    expect(more).toEqual([]);
    expect(name).toMatch(new RegExp(`^\\d{8}T\\d{6}Z-${process.pid}-[0-9a-f]{8}\\.jsonl$`));
    const text = await readFile(join(folder, name), "utf8");
    expect(
      text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { event: "intent", tool_id: "box:echo", outcome: "pending" },
      { event: "outcome", tool_id: "box:echo", outcome: "ok" },
      { event: "note", outcome: "closed", count: 2 },
    ]);
    expect(text).not.toContain(secret);
    if (process.platform === "win32") return;
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
  });

  test("one for all gateways of a process", async () => {
    for (let count = 0; count < 3; count++) await executed(await createGateway({ plugins: [audit(), box] }));
    expect(await readdir(folder)).toHaveLength(1);
    expect(await readRecords(folder)).toHaveLength(6);
  });

  test("of which nothing is made where nothing is called", async () => {
    const gateway = await createGateway({ plugins: [audit(), box] });
    await gateway.close();
    await expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("for a preset, for the engine, and for a command", async () => {
    const options = { cache: { enabled: false } };
    const gateway = await createGateway({ preset: anygpt, plugins: [demo()], options });
    const args = { server: "demo", tool: "add", arguments: { a: 1, b: 2 } };
    await gateway.run({ tool: "anygpt:execute_tool", args });
    await gateway.close();
    expect((await readRecords(folder)).map(({ tool_id }) => tool_id)).toEqual([
      "demo:add",
      "demo:add",
      "anygpt:execute_tool",
    ]);

    const engine = await createDiscoveryEngine({}, { plugins: [demo()], options });
    await engine.executeTool("demo", "add", { a: 1, b: "two" });
    await engine.close();
    expect((await readRecords(folder)).at(-1)).toMatchObject({
      tool_id: "demo:add",
      outcome: "INVALID_ARGUMENTS",
    });

    const project = await temporaryFolder({ "toolpipe.config.yaml": "plugins: [toolpipe/plugins/demo]\n" });
    const config = join(project, "toolpipe.config.yaml");
    const run = await runMain([
      "execute",
      "demo",
      "word_count",
      "--args",
      '{"text":"a b"}',
      "--config",
      config,
    ]);
    expect(run).toMatchObject({ code: 0 });
    expect((await readRecords(folder)).at(-1)).toMatchObject({ tool_id: "demo:word_count", outcome: "ok" });
  });
});

test("another folder can be named, and a file is used as it is", async () => {
  const elsewhere = join(home, "elsewhere");
  await executed(await createGateway({ plugins: [audit({ folder: elsewhere }), box] }));
  expect(await readRecords(elsewhere)).toHaveLength(2);
  await expect(readdir(folder)).rejects.toThrow();
});

describe("old files", () => {
  /** A process id that no process has. */
  const dead = 4_194_305;

  async function old(name: string, daysAgo: number, bytes = 10): Promise<string> {
    await mkdir(folder, { recursive: true });
    const file = join(folder, name);
    await writeFile(file, "x".repeat(bytes));
    const when = Date.now() / 1000 - daysAgo * 86_400;
    await utimes(file, when, when);
    return name;
  }

  async function afterOneRecord(options: object): Promise<string[]> {
    await executed(await createGateway({ plugins: [audit(options), box] }));
    return (await readdir(folder)).filter(
      (name) => !name.includes(`-${process.pid}-`) || name.startsWith("2001"),
    );
  }

  test("are removed when a process begins to record, and nothing else is", async () => {
    const kept = [
      await old(`20010101T000001Z-${dead}.jsonl`, 29),
      // Its process lives, so it may still be written to.
      await old(`20010101T000000Z-${process.pid}-0a.jsonl`, 99),
      await old("notes.jsonl", 99),
      await old("20010101T000000Z-5.jsonl.bak", 99),
    ];
    await old(`20010101T000000Z-${dead}.jsonl`, 31);
    expect((await afterOneRecord({})).toSorted()).toEqual(kept.toSorted());
  });

  test("are removed where they are too large together, the oldest first", async () => {
    const newest = await old(`20010103T000000Z-${dead}.jsonl`, 1, 60);
    await old(`20010102T000000Z-${dead}.jsonl`, 2, 60);
    await old(`20010101T000000Z-${dead}.jsonl`, 3, 60);
    expect(await afterOneRecord({ maxBytes: 100 })).toEqual([newest]);
  });
});

test("records that cannot be written cost no answer, and that is said once, until one can be written again", async () => {
  const errors: GatewayError[] = [];
  const listener: Plugin = { name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) };
  const said: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => said.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  await mkdir(join(home, "state"));
  await writeFile(folder, "a file where a folder should be");
  const gateway = await createGateway({ plugins: [audit(), box, listener] });
  for (let count = 0; count < 3; count++) expect((await gateway.run({ tool: "box:echo" })).ok).toBe(true);
  await gateway.close();
  expect(errors.map(({ message }) => message)).toEqual([
    expect.stringMatching(
      /^Calls are not being recorded: the audit cannot be written \((EEXIST|ENOTDIR)\)\.$/,
    ),
  ]);
  expect(said).toEqual([`toolpipe: ${errors[0]?.message}\n`]);
});

test.each([
  ["keepDays", { keepDays: -1 }, "keepDays: expected a number of days"],
  ["maxBytes", { maxBytes: "1" }, "maxBytes"],
])("%s is checked", (_name, options, message) => {
  expect(() => audit(options as never)).toThrow(message);
});
