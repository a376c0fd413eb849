import { appendFile, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { parseTime } from "../../../../plugins/audit/commands/export.ts";
import { fileSink } from "../../../../plugins/audit/mod.ts";
import { record } from "../../../contracts/audit-sink.ts";
import { place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

let folder: string;
let project: string;
beforeEach(async () => {
  const made = await place();
  project = made.project;
  folder = join(made.state, "state", "audit");
});

async function written(name: string, ...records: ReturnType<typeof record>[]): Promise<string> {
  const file = join(folder, name);
  const sink = fileSink(file);
  for (const each of records) await sink.write(each);
  await sink.close();
  return file;
}

const at = (id: string, minute: number, rest = {}): ReturnType<typeof record> =>
  record(id, { timestamp: `2026-01-01T00:${String(minute).padStart(2, "0")}:00.000Z`, ...rest });

describe("audit tail", () => {
  test("shows the last records of all processes in the order of their calls", async () => {
    await written("20260101T000000Z-1.jsonl", at("a", 1), at("c", 3, { outcome: "DENIED", event: "denial" }));
    await written(
      "20260101T000000Z-2.jsonl",
      at("b", 2, { event: "intent", outcome: "pending" }),
      at("d", 4),
    );
    const { code, stdout } = await runMain(["audit", "tail", "-n", "3"]);
    expect(code).toBe(0);
    expect(stdout.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^2026-01-01T00:02:00.000Z +intent +pending +demo:add +by local$/),
      expect.stringMatching(/^2026-01-01T00:03:00.000Z +denial +DENIED +demo:add +by local +1.5 ms$/),
      expect.stringMatching(/^2026-01-01T00:04:00.000Z +outcome +ok +demo:add +by local +1.5 ms$/),
    ]);
  });

  test("gives whole records as JSON", async () => {
    const file = await written("20260101T000000Z-1.jsonl", at("a", 1));
    const { stdout } = await runMain(["audit", "tail", "--json"]);
    expect(stdout).toBe(await readFile(file, "utf8"));
  });

  test("shows nothing that steers a terminal", async () => {
    await written("20260101T000000Z-1.jsonl", at("a", 1, { tool_id: "\u001b[31mred\u202e\nnext" }));
    const { stdout } = await runMain(["audit", "tail"]);
    for (const character of ["\u001b", "\u202e"]) expect(stdout).not.toContain(character);
    expect(stdout.split("\n")).toHaveLength(2);
  });

  test("reports an empty audit", async () => {
    expect(await runMain(["audit", "tail"])).toEqual({
      code: 0,
      stdout: "There are no records.\n",
      stderr: "",
    });
    expect((await runMain(["audit", "verify"])).stdout).toBe("There are no records yet.\n");
    expect((await runMain(["audit", "export"])).stdout).toBe("");
  });

  test("follows what comes, in files that are not there yet too, until it is interrupted", async () => {
    await written("20260101T000000Z-1.jsonl", at("a", 1));
    const printed: string[] = [];
    const running = (async () => {
      const spy = vi
        .spyOn(process.stdout, "write")
        .mockImplementation((text) => printed.push(String(text)) > 0);
      try {
        const { main, toolpipeProgram } = await import("../../../../plugins/cli/mod.ts");
        return await main(toolpipeProgram, ["audit", "tail", "-f", "--json"]);
      } finally {
        spy.mockRestore();
      }
    })();
    const ids = (): string[] =>
      printed
        .join("")
        .split("\n")
        .flatMap((line) => (line === "" ? [] : [JSON.parse(line).request_id]));
    await expect.poll(ids, { timeout: 10_000 }).toEqual(["a"]);
    await written("20260101T000000Z-1.jsonl", at("b", 2));
    await expect.poll(ids, { timeout: 10_000 }).toEqual(["a", "b"]);
    await written("20260101T000000Z-2.jsonl", at("c", 3));
    await expect.poll(ids, { timeout: 10_000 }).toEqual(["a", "b", "c"]);
    process.emit("SIGINT");
    expect(await running).toBe(130);
  });
});

describe("audit verify", () => {
  test("finds nothing wrong with records as they were written", async () => {
    const file = await written("20260101T000000Z-1.jsonl", at("a", 1), at("b", 2));
    expect(await runMain(["audit", "verify"])).toMatchObject({
      code: 0,
      stdout: `✓ ${file}: 2 records, without a key\n`,
    });
    await appendFile(file, '{"event":');
    expect(await runMain(["audit", "verify", file])).toMatchObject({
      code: 0,
      stdout: `✓ ${file}: 2 records, without a key\n! ${file}: its last line was never finished, as a process was killed.\n`,
    });
  });

  test("names the first record that was changed, and ends with 1", async () => {
    const file = await written("20260101T000000Z-1.jsonl", at("a", 1), at("b", 2), at("c", 3));
    await writeFile(file, (await readFile(file, "utf8")).replace('"request_id":"b"', '"request_id":"x"'));
    const { code, stdout } = await runMain(["audit", "verify"]);
    expect(code).toBe(1);
    expect(stdout).toBe(
      `✗ ${file}: line 2: record 2 (request x) was changed: its hash is another one. 1 record before it in 20260101T000000Z-1.jsonl is intact.\n`,
    );
    const json = JSON.parse((await runMain(["audit", "verify", file, "--json"])).stdout);
    expect(json).toMatchObject({ valid: false, files: [{ file, records: 1, fault: { line: 2, seq: 2 } }] });
  });

  test("of a missing file fails with its path", async () => {
    const { code, stderr } = await runMain(["audit", "verify", "nowhere.jsonl"]);
    expect({ code, stderr }).toEqual({
      code: 2,
      stderr: `${project}/nowhere.jsonl: there is no such file.\n`,
    });
  });
});

describe("audit export", () => {
  test("prints every record once, as JSON or as CSV that no spreadsheet runs", async () => {
    const file = await written("20260101T000000Z-1.jsonl", at("a", 1), at("b", 2, { actor_id: '=cmd|"x"' }));
    const text = await readFile(file, "utf8");
    expect((await runMain(["audit", "export"])).stdout).toBe(text);
    // As after a rotation by copying.
    await writeFile(join(folder, "20260101T000000Z-1.jsonl.1"), text);
    expect((await runMain(["audit", "export", "--json"])).stdout).toBe(text);
    const [head, first, second, ...rest] = (await runMain(["audit", "export", "--csv"])).stdout.split("\r\n");
    expect(head).toMatch(/^timestamp,event,outcome,tool_id,actor_id,request_id,.*,seq,prev_hash,hash$/);
    expect(first).toMatch(/^2026-01-01T00:01:00.000Z,outcome,ok,demo:add,local,a,/);
    expect(second).toContain(`,"'=cmd|""x""",b,`);
    expect(rest).toEqual([""]);
  });

  test("can begin at a moment", async () => {
    await written("20260101T000000Z-1.jsonl", at("a", 1), at("b", 2), at("c", 3));
    const { stdout } = await runMain(["audit", "export", "--since", "2026-01-01T00:02:00Z"]);
    expect(
      stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line).request_id),
    ).toEqual(["b", "c"]);
    expect((await runMain(["audit", "export", "--since", "1h"])).stdout).toBe("");
    const now = Date.parse("2026-01-08T00:00:00Z");
    expect(parseTime("7d", now)).toBe(Date.parse("2026-01-01T00:00:00Z"));
    expect(parseTime("90m", now)).toBe(now - 5_400_000);
  });

  test.each([
    [["audit", "export", "--since", "yesterday"], "The option --since needs a date"],
    [["audit", "export", "--json", "--csv"], "Only one of --json and --csv"],
    [["audit", "tail", "-n", "x"], "The option -n needs a whole number"],
    [["audit", "tail", "--folder="], "The option --folder needs a value."],
    [["audit"], "A command is missing: one of tail, verify, export."],
  ])("%j is a wrong command line", async (args, message) => {
    const { code, stderr } = await runMain(args);
    expect(stderr).toContain(message);
    expect(code).toBe(1);
  });
});

test("reads records from the folder of the config, or of the command line", async () => {
  await mkdir(join(project, "logs"));
  const file = join(project, "logs/own.jsonl");
  const sink = fileSink(file);
  await sink.write(at("a", 1));
  await sink.close();
  await writeFile(
    join(project, "toolpipe.config.json"),
    `{ "options": { "audit": { "file": "logs/own.jsonl" } } }`,
  );
  for (const args of [[], ["--file", file], ["--folder", join(project, "logs")]]) {
    const { stdout } = await runMain(["audit", "tail", "--json", ...args]);
    expect(JSON.parse(stdout)).toMatchObject({ request_id: "a" });
  }
});
