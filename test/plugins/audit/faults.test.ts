import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
  appendFile,
  copyFile,
  mkdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  createGateway,
  type Gateway,
  type GatewayError,
  localTools,
  type Plugin,
  textResult,
} from "../../../core/mod.ts";
import { createPolicy, type RiskLevel } from "../../../core/services/policy.ts";
import { listAuditFiles } from "../../../plugins/audit/audit-files.ts";
import { audit, fileSink, verifyAudit } from "../../../plugins/audit/mod.ts";
import { record } from "../../contracts/audit-sink.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const onLinux = process.platform === "linux";

interface Line {
  readonly event: string;
  readonly request_id: string;
  readonly outcome: string;
  readonly count: number;
  readonly seq: number;
  readonly chain: string;
}

async function readLines(file: string): Promise<Line[]> {
  const text = await readFile(file, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line)]));
}

async function findFault(file: string) {
  const [verified] = await verifyAudit([file], await listAuditFiles(join(file, "..")));
  return verified?.fault;
}

/** Tools of every risk, which count how often they ran, behind a plugin that says what their risk is. */
async function guarded(file: string) {
  const ran: string[] = [];
  const levels: RiskLevel[] = ["low", "medium", "high", "destructive"];
  const tools = localTools(
    "box",
    { id: "box" },
    [...levels, "unjudged"].map((name) => ({
      name,
      inputSchema: { type: "object" },
      run() {
        ran.push(name);
        return textResult("done");
      },
    })),
  );
  const guard: Plugin = {
    name: "guard",
    setup: () => ({
      "tool:discover"(tool) {
        tool.policy = createPolicy(levels.find((each) => each === tool.name) ?? "high", "box");
      },
    }),
  };
  const errors: GatewayError[] = [];
  const listener: Plugin = { name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) };
  const gateway = await openGateway({ plugins: [audit({ file }), guard, listener, tools] });
  return { gateway, ran, errors, run: (name: string) => runTool(gateway, name) };
}

async function runTool(gateway: Gateway, name: string): Promise<string> {
  const call = await gateway.run({ tool: `box:${name}` });
  return call.ok ? "ok" : call.error.code;
}

describe("fault 48: the audit cannot be written", () => {
  type Step = (folder: string) => Promise<void>;
  const places: [what: string, spoil: Step, repair: Step][] = [
    [
      "a place that cannot be written to",
      (folder) => writeFile(join(folder, "logs"), ""),
      (folder) => rm(join(folder, "logs")),
    ],
    [
      "a full disk",
      async (folder) => {
        await mkdir(join(folder, "logs"));
        // A device that says of every write that the disk is full.
        await symlink("/dev/full", join(folder, "logs/audit.jsonl"));
      },
      (folder) => rm(join(folder, "logs/audit.jsonl")),
    ],
  ];

  test.each(onLinux ? places : places.slice(0, 1))(
    "%s: what may do harm is not executed, the rest is, and it recovers without a restart",
    async (_what, spoil, repair) => {
      const folder = await temporaryFolder();
      const file = join(folder, "logs/audit.jsonl");
      await spoil(folder);
      const { run, ran, errors } = await guarded(file);
      for (const name of ["high", "destructive", "unjudged"])
        expect(await run(name)).toBe("AUDIT_UNAVAILABLE");
      expect(ran).toEqual([]);
      for (const name of ["low", "medium"]) expect(await run(name)).toBe("ok");
      expect(ran).toEqual(["low", "medium"]);
      await expect.poll(() => errors.length).toBe(1);

      await repair(folder);
      await expect.poll(() => run("high")).toBe("ok");
      expect(ran).toEqual(["low", "medium", "high"]);
      const lines = await readLines(file);
      expect(lines[0]).toMatchObject({ event: "note", outcome: "records_lost" });
      expect(lines[0]?.count).toBeGreaterThanOrEqual(6);
      expect(lines.slice(-2)).toMatchObject([{ outcome: "pending" }, { outcome: "ok" }]);
      expect(await findFault(file)).toBeUndefined();
    },
  );

  test("the refusal names the fix, and that nothing was sent", async () => {
    const folder = await temporaryFolder({ logs: "" });
    const { gateway } = await guarded(join(folder, "logs/audit.jsonl"));
    const call = await gateway.run({ tool: "box:high" });
    expect(call.error).toMatchObject({
      code: "AUDIT_UNAVAILABLE",
      message: '"box:high" was not executed, because it cannot be recorded: the audit cannot be written.',
      kind: { retry: true },
      data: { tool: "box:high", sent: false, suggestion: expect.any(String) },
    });
  });

  test("does not delay calls without a guard", async () => {
    const folder = await temporaryFolder({ logs: "" });
    const tool = { name: "any", inputSchema: { type: "object" }, run: () => textResult("done") };
    const gateway = await createGateway({
      plugins: [audit({ file: join(folder, "logs/a") }), localTools("box", { id: "box" }, [tool])],
    });
    expect(await runTool(gateway, "any")).toBe("ok");
    await gateway.close();
  });

  test("a call with side effects begins only once its intent is on the disk", async () => {
    const folder = await temporaryFolder();
    const file = join(folder, "audit.jsonl");
    let found: Line[] = [];
    const tool = {
      name: "pay",
      inputSchema: { type: "object" },
      async run() {
        found = await readLines(file);
        return textResult("paid");
      },
    };
    const guard: Plugin = {
      name: "guard",
      setup: () => ({
        "tool:discover"(each) {
          each.policy = createPolicy("high", "box");
        },
      }),
    };
    const gateway = await createGateway({
      plugins: [audit({ file }), guard, localTools("box", { id: "box" }, [tool])],
    });
    const call = await gateway.run({ tool: "box:pay" });
    expect(found).toMatchObject([{ event: "intent", request_id: call.id }]);
    // And its outcome before the caller gets the result.
    expect(await readLines(file)).toMatchObject([{ event: "intent" }, { event: "outcome", outcome: "ok" }]);
    await gateway.close();
  });

  const small = "/tmp/toolpipe-small-disk";
  async function smallDisk(): Promise<string | undefined> {
    const folder = `${small}-${randomBytes(4).toString("hex")}`;
    await mkdir(folder);
    const run = (command: string, ...args: string[]): Promise<number | null> =>
      new Promise((resolve) => {
        spawn(command, args, { stdio: "ignore" })
          .on("error", () => resolve(1))
          .on("close", resolve);
      });
    onTestFinished(async () => {
      await run("umount", folder);
      await rm(folder, { recursive: true, force: true });
    });
    return (await run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", folder)) === 0 ? folder : undefined;
  }

  test.skipIf(!onLinux || process.getuid?.() !== 0)(
    "a disk that fills up takes a part of a record, which is taken back, and the chain goes on when there is room",
    async ({ skip }) => {
      const folder = await smallDisk();
      if (!folder) return skip("No disk can be mounted here.");
      const file = join(folder, "audit.jsonl");
      const sink = fileSink(file);
      let written = 0;
      const long = "x".repeat(900);
      for (let failures = 0; failures < 3; ) {
        await Promise.resolve(sink.write(record(written, { tool_id: long }))).then(
          () => written++,
          (error: { code: string }) => {
            expect(error.code).toBe("ENOSPC");
            failures++;
          },
        );
      }
      expect(written).toBeGreaterThan(20);
      expect((await readLines(file)).length).toBe(written);
      // Makes room by what a person would do: the file goes elsewhere.
      const elsewhere = join(await temporaryFolder(), "audit.jsonl.1");
      await copyFile(file, elsewhere);
      await truncate(file, 0);
      await sink.write(record("after"));
      await sink.close();
      const lines = await readLines(file);
      expect(lines.at(-2)).toMatchObject({ event: "note", outcome: "records_lost", count: 3 });
      expect(lines.at(-1)).toMatchObject({ request_id: "after", seq: written + 2 });
      const [verified] = await verifyAudit([file], [elsewhere]);
      expect(verified?.fault).toBeUndefined();
    },
  );

  test.skipIf(!onLinux || "Deno" in globalThis)(
    "a handle that is closed under it is opened again",
    async () => {
      const file = join(await temporaryFolder(), "audit.jsonl");
      const sink = fileSink(file);
      await sink.write(record(1));
      const { readdirSync, readlinkSync, closeSync } = await import("node:fs");
      const own = readdirSync("/proc/self/fd").find((name) => {
        try {
          return readlinkSync(`/proc/self/fd/${name}`) === file;
        } catch {
          return false;
        }
      });
      closeSync(Number(own));
      await sink.write(record(2));
      await sink.close();
      expect((await readLines(file)).map(({ request_id }) => request_id)).toEqual(["1", "2"]);
      expect(await findFault(file)).toBeUndefined();
    },
  );
});

describe("fault 49: the process is killed as it writes", () => {
  const fixture = fileURLToPath(new URL("../../fixtures/audit-writer.ts", import.meta.url));
  const jiti = join(createRequire(import.meta.url).resolve("jiti/package.json"), "../lib/jiti-cli.mjs");
  const args = "Deno" in globalThis ? ["run", "-A", fixture] : [jiti, fixture];

  test("every record that was said to be safe is there, and the chain verifies", {
    timeout: 60_000,
  }, async () => {
    const file = join(await temporaryFolder(), "audit.jsonl");
    const safe: string[] = [];
    for (let round = 0; round < 8; round++) {
      const child = spawn(process.execPath, [...args, file, "16"], { stdio: ["ignore", "pipe", "inherit"] });
      let output = "";
      const enough = 20 + Math.floor(Math.random() * 200);
      child.stdout.on("data", (chunk) => {
        output += chunk;
        if (output.split("\n").length > enough) child.kill("SIGKILL");
      });
      await new Promise((resolve) => child.on("close", resolve));
      safe.push(...output.split("\n").slice(0, -1));
    }
    const sink = fileSink(file);
    await sink.write(record("last"));
    await sink.close();
    const lines = await readLines(file);
    const ids = new Set(lines.map(({ request_id }) => request_id));
    expect(safe.length).toBeGreaterThan(100);
    expect(safe.filter((id) => !ids.has(id))).toEqual([]);
    expect(await findFault(file)).toBeUndefined();
    expect(new Set(lines.map(({ chain }) => chain)).size).toBe(9);
  });

  test("a file cut off anywhere is continued behind its last whole record, and that is noted", async () => {
    const folder = await temporaryFolder();
    const whole = join(folder, "whole.jsonl");
    const sink = fileSink(whole);
    for (let id = 0; id < 4; id++) await sink.write(record(id));
    await sink.close();
    const { size } = await stat(whole);
    const ends = (await readFile(whole, "utf8")).split("\n").map((line) => line.length + 1);
    let number = 0;
    await fc.assert(
      fc.asyncProperty(fc.nat(size), async (length) => {
        const file = join(folder, `cut-${number++}.jsonl`);
        await copyFile(whole, file);
        await truncate(file, length);
        const again = fileSink(file);
        await again.write(record("new"));
        await again.close();
        let kept = 0;
        for (let end = ends[0] ?? 0; end <= length && kept < 4; end += ends[kept] ?? 0) kept++;
        const torn = length - ends.slice(0, kept).reduce((sum, each) => sum + each, 0);
        const lines = await readLines(file);
        expect(lines.slice(0, kept).map(({ request_id }) => request_id)).toEqual(
          ["0", "1", "2", "3"].slice(0, kept),
        );
        expect(lines.slice(kept)).toMatchObject([
          ...(torn > 0 ? [{ event: "note", outcome: "tail_cut", count: torn }] : []),
          { request_id: "new" },
        ]);
        const [verified] = await verifyAudit([file]);
        expect(verified).toMatchObject({ records: lines.length, isTorn: false });
        expect(verified?.fault).toBeUndefined();
      }),
      { numRuns: 25 },
    );
  });

  test("the file of a process that is gone verifies as it is, a line that was never finished included", async () => {
    const file = join(await temporaryFolder(), "audit.jsonl");
    const sink = fileSink(file);
    for (let id = 0; id < 3; id++) await sink.write(record(id));
    await sink.close();
    await appendFile(file, '{"event":"outco');
    expect(await verifyAudit([file])).toEqual([{ file, records: 3, chains: 1, isTorn: true }]);
  });
});

describe("fault 50: edited records", () => {
  async function written(count: number): Promise<{ file: string; lines: string[] }> {
    const file = join(await temporaryFolder(), "audit.jsonl");
    const sink = fileSink(file);
    await Promise.all(Array.from({ length: count }, (_, id) => sink.write(record(id))));
    await sink.close();
    return { file, lines: (await readFile(file, "utf8")).trimEnd().split("\n") };
  }

  const save = (file: string, lines: readonly string[]): Promise<void> =>
    writeFile(file, lines.map((line) => `${line}\n`).join(""));

  test("untouched records verify", async () => {
    const { file } = await written(50);
    expect(await verifyAudit([file])).toEqual([{ file, records: 50, chains: 1, isTorn: false }]);
  });

  test("the first record that was changed is named, whatever was changed in it", async () => {
    const { file, lines } = await written(10);
    await fc.assert(
      fc.asyncProperty(
        fc.nat(9),
        fc.constantFrom("request_id", "tool_id", "actor_id", "timestamp", "outcome", "params_hash", "hash"),
        async (index, field) => {
          const changed = { ...JSON.parse(lines[index] as string), [field]: "other" };
          await save(file, lines.with(index, JSON.stringify(changed)));
          expect(await findFault(file)).toMatchObject({ file, line: index + 1, seq: index + 1 });
        },
      ),
      { numRuns: 30 },
    );
  });

  test("a record that was changed and given its new hash is found by the one behind it", async () => {
    const { file, lines } = await written(5);
    const { hashRecord } = await import("../../../plugins/audit/chain.ts");
    const changed = { ...JSON.parse(lines[1] as string), actor_id: "mallory" };
    await save(file, lines.with(1, JSON.stringify({ ...changed, hash: hashRecord(changed) })));
    expect(await findFault(file)).toMatchObject({ seq: 3, reason: "does not follow record 2 as it is now" });
  });

  test("a record that was removed is missed, but for the last ones", async () => {
    const { file, lines } = await written(6);
    for (let index = 0; index < 5; index++) {
      await save(file, lines.toSpliced(index, 1));
      expect(await findFault(file)).toMatchObject({ seq: index + 2, line: index + 1 });
    }
  });

  test("two records that changed places are found", async () => {
    const { file, lines } = await written(6);
    for (let index = 0; index < 5; index++) {
      const [a = "", b = ""] = lines.slice(index, index + 2);
      await save(file, lines.toSpliced(index, 2, b, a));
      expect(await findFault(file)).toMatchObject({ seq: index + 2 });
    }
  });

  test("a line that was added, and one that is no record, are found", async () => {
    const { file, lines } = await written(3);
    await save(file, lines.toSpliced(1, 0, "{}"));
    expect(await findFault(file)).toEqual({
      kind: "changed",
      file,
      line: 2,
      reason: "has no place in a chain",
    });
    await save(file, lines.toSpliced(1, 0, "nonsense"));
    expect(await findFault(file)).toEqual({ kind: "changed", file, line: 2, reason: "is not a record" });
  });
});

describe("fault 51: the file is rotated under us", () => {
  async function rotating(rotate: (file: string, to: string) => Promise<void>) {
    const folder = await temporaryFolder();
    const file = join(folder, "audit.jsonl");
    const sink = fileSink(file);
    let id = 0;
    for (let round = 1; round <= 4; round++) {
      await Promise.all(Array.from({ length: 20 }, () => sink.write(record(id++))));
      if (round < 4) await rotate(file, `${file}.${round}`);
    }
    await sink.close();
    const files = await listAuditFiles(folder);
    const verified = await verifyAudit(files);
    return { files, verified, lines: (await Promise.all(files.map(readLines))).flat() };
  }
  const numbers = (lines: readonly Line[]): number[] =>
    [...new Set(lines.map(({ request_id }) => Number(request_id)))].toSorted((a, b) => a - b);
  const all = Array.from({ length: 80 }, (_, id) => id);

  test("a file that was renamed: the next record begins a new one, and the chain goes on", async () => {
    const { files, verified, lines } = await rotating(rename);
    expect(files).toHaveLength(4);
    expect(verified.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined, undefined]);
    expect(numbers(lines)).toEqual(all);
    expect(lines).toHaveLength(80);
    expect(new Set(lines.map(({ chain }) => chain)).size).toBe(1);
  });

  test("a file that was copied and emptied: nothing is lost, not even what the copy has missed", async () => {
    const { files, verified, lines } = await rotating(async (file, to) => {
      const text = await readFile(file, "utf8");
      // As if three records had come between the copy and the emptying.
      await writeFile(to, `${text.trimEnd().split("\n").slice(0, -3).join("\n")}\n`);
      await truncate(file, 0);
    });
    expect(files).toHaveLength(4);
    expect(verified.map(({ fault }) => fault)).toEqual([undefined, undefined, undefined, undefined]);
    expect(numbers(lines)).toEqual(all);
  });

  test("a file that is gone is noticed: what follows it names a record that is nowhere", async () => {
    const { verified } = await rotating((file) => rm(file));
    expect(verified).toHaveLength(1);
    expect(verified[0]?.fault?.reason).toContain("in no file here");
  });

  test("several processes, and several sinks of one process, may write to one file", async () => {
    const file = join(await temporaryFolder(), "audit.jsonl");
    const sinks = [fileSink(file), fileSink(file)];
    await Promise.all(
      sinks.flatMap((sink, owner) =>
        Array.from({ length: 50 }, (_, id) => sink.write(record(`${owner}-${id}`))),
      ),
    );
    await Promise.all(sinks.map((sink) => sink.close()));
    expect(await verifyAudit([file])).toEqual([{ file, records: 100, chains: 1, isTorn: false }]);
  });
});
