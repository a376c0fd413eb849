import { mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type AuditRecord, type ChainedRecord, fileSink } from "../../../plugins/audit/mod.ts";
import { record, testAuditSink } from "../../contracts/audit-sink.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function readRecords(file: string): Promise<(AuditRecord & ChainedRecord)[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));
}

testAuditSink("fileSink", async () => {
  const file = join(await temporaryFolder(), "audit.jsonl");
  return { sink: fileSink(file), read: () => readRecords(file) };
});

test("the file holds one JSON object a line, each line ended", async () => {
  const file = join(await temporaryFolder(), "audit.jsonl");
  const sink = fileSink(file);
  await sink.write(record(1));
  await sink.write(record(2, { tool_id: "a\nb" }));
  await sink.close();
  const text = await readFile(file, "utf8");
  expect(text.split("\n").map((line) => line && JSON.parse(line))).toEqual([
    expect.objectContaining(record(1)),
    expect.objectContaining(record(2, { tool_id: "a\nb" })),
    "",
  ]);
});

test.skipIf(process.platform === "win32")(
  "only the owner can read the file or list its new folder",
  async () => {
    const folder = await temporaryFolder();
    const sink = fileSink(join(folder, "new/deep/audit.jsonl"));
    await sink.write(record(1));
    await sink.close();
    expect((await stat(join(folder, "new/deep/audit.jsonl"))).mode & 0o777).toBe(0o600);
    expect((await stat(join(folder, "new/deep"))).mode & 0o777).toBe(0o700);
  },
);

test("a file that is there is continued, not begun again", async () => {
  const file = join(await temporaryFolder(), "audit.jsonl");
  for (const id of [1, 2]) {
    const sink = fileSink(file);
    await sink.write(record(id));
    await sink.close();
  }
  expect((await readRecords(file)).map(({ request_id }) => request_id)).toEqual(["1", "2"]);
});

test("two sinks of one file never tear each other's lines", async () => {
  const file = join(await temporaryFolder(), "audit.jsonl");
  const sinks = [fileSink(file), fileSink(file)];
  const long = "x".repeat(2_000);
  await Promise.all(
    sinks.flatMap((sink, owner) =>
      Array.from({ length: 200 }, (_, index) =>
        sink.write(record(index, { actor_id: String(owner), tool_id: long })),
      ),
    ),
  );
  await Promise.all(sinks.map((sink) => sink.close()));
  const records = await readRecords(file);
  expect(records).toHaveLength(400);
  for (const owner of ["0", "1"]) {
    const ids = records
      .filter(({ actor_id }) => actor_id === owner)
      .map(({ request_id }) => Number(request_id));
    expect(ids).toEqual([...Array(200).keys()]);
  }
});

test("a write that fails is rejected, and those after it succeed once the folder can be written", async () => {
  const folder = await temporaryFolder({ logs: "a file where a folder should be" });
  const sink = fileSink(join(folder, "logs/audit.jsonl"));
  const writes = await Promise.allSettled([sink.write(record(1)), sink.write(record(2))]);
  expect(writes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  await rm(join(folder, "logs"));
  await sink.write(record(3));
  await sink.close();
  expect(await readRecords(join(folder, "logs/audit.jsonl"))).toMatchObject([
    { event: "note", outcome: "records_lost", count: 2 },
    { request_id: "3" },
  ]);
});

test("close after a failed write does not fail", async () => {
  const folder = await temporaryFolder({ logs: "" });
  const sink = fileSink(join(folder, "logs/audit.jsonl"));
  const writing = Promise.resolve(sink.write(record(1))).catch((error: unknown) => error);
  await sink.close();
  expect(await writing).toMatchObject({ code: expect.stringMatching(/ENOTDIR|EEXIST/) });
});

test.skipIf(process.platform !== "linux")("a full disk costs no file handles", async () => {
  const handles = async () => (await readdir("/proc/self/fd")).length;
  // A device that says of every write that the disk is full.
  const sink = fileSink("/dev/full");
  const write = () => Promise.resolve(sink.write(record(1))).catch((error: { code: string }) => error.code);
  expect(await write()).toBe("ENOSPC");
  const before = await handles();
  for (let attempt = 0; attempt < 20; attempt++) expect(await write()).toBe("ENOSPC");
  await sink.close();
  expect(await handles()).toBeLessThan(before + 10);
});

test("a file that is taken away is made again for the next sink", async () => {
  const folder = await temporaryFolder();
  const file = join(folder, "audit.jsonl");
  const first = fileSink(file);
  await first.write(record(1));
  await first.close();
  await rm(folder, { recursive: true });
  const second = fileSink(file);
  await second.write(record(2));
  await second.close();
  expect(await readRecords(file)).toMatchObject([record(2)]);
  await mkdir(folder, { recursive: true });
  await writeFile(file, "");
});

test("a record that cannot be made costs no other one, and is told to be lost", async () => {
  const file = join(await temporaryFolder(), "audit.jsonl");
  const sink = fileSink(file);
  const writes = [
    sink.writeSoon(() => record(1), 10),
    sink.writeSoon(() => {
      throw new Error("There is no such record.");
    }, 10),
    sink.writeSoon(() => record(3), 10),
  ];
  await Promise.all(writes);
  await sink.close();
  const records = (await readFile(file, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(records).toMatchObject([
    { event: "note", outcome: "records_lost", count: 1 },
    { request_id: "1" },
    { request_id: "3" },
  ]);
});
