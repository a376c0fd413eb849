import { spawn } from "node:child_process";
import { appendFile, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { createGateway, localTools, textResult } from "../../core/mod.ts";
import { canonicalRecord, createChain, hashRecord } from "../../plugins/audit/chain.ts";
import { installationKey } from "../../plugins/audit/key.ts";
import { type AuditOptions, audit, fileSink } from "../../plugins/audit/mod.ts";
import { createSigner, type Signer } from "../../plugins/audit/seal.ts";
import { fileStore, state } from "../../plugins/state/mod.ts";
import { record } from "../contracts/audit-sink.ts";
import { place } from "../support/place.ts";
import { runMain } from "../support/run-cli.ts";
import { until } from "../support/until.ts";

let home: string;
let folder: string;
beforeEach(async () => {
  home = join((await place()).state, "state");
  folder = join(home, "audit");
});

/** Records two for each call, and one at the close, in a file of its own. */
async function recordCalls(calls: number, options: AuditOptions = {}): Promise<string> {
  const file = options.folder === undefined ? join(folder, "20260101T000000Z-999999999.jsonl") : undefined;
  const tool = { name: "echo", inputSchema: { type: "object" }, run: () => textResult("") };
  const gateway = await createGateway({
    plugins: [
      state(),
      audit({ ...(file !== undefined && { file }), ...options }),
      localTools("box", { id: "box" }, [tool]),
    ],
  });
  for (let call = 0; call < calls; call++) await gateway.run({ tool: "box:echo" });
  await gateway.close();
  return file ?? "";
}

interface Json {
  readonly valid: boolean;
  readonly files: readonly {
    readonly file: string;
    readonly records: number;
    readonly fault?: { readonly kind: string; readonly seq?: number; readonly line?: number };
  }[];
}

async function verify(...args: readonly string[]) {
  const { code, stdout } = await runMain(["audit", "verify", "--json", ...args]);
  const { valid, files } = JSON.parse(stdout) as Json;
  expect(valid).toBe(code === 0);
  return { code, faults: files.flatMap(({ fault }) => fault ?? []), files };
}

const readLines = async (file: string): Promise<string[]> =>
  (await readFile(file, "utf8")).split("\n").filter(Boolean);
const save = (file: string, lines: readonly string[]): Promise<void> =>
  writeFile(file, lines.map((line) => `${line}\n`).join(""));

async function anchorsOf(): Promise<readonly { readonly key: string; readonly value: object }[]> {
  return fileStore(join(home, "store")).list("audit/");
}

/** Writes all records of a file anew, with a changed actor and hashes that fit. */
async function rewrite(file: string, change: (record: object) => object, signer?: Signer): Promise<void> {
  let before = "0".repeat(64);
  const lines = (await readLines(file)).map((line) => {
    const { hash: _, ...rest } = { ...change(JSON.parse(line)), prev_hash: before } as { hash?: string };
    before = hashRecord(rest, signer);
    return JSON.stringify({ ...rest, hash: before });
  });
  await save(file, lines);
}

const forge = (record: object): object => ({ ...record, actor_id: "another" });

test("records as they were written pass, with a closing record and one anchor", async () => {
  const file = await recordCalls(7);
  expect(JSON.parse((await readLines(file)).at(-1) ?? "")).toMatchObject({
    event: "note",
    outcome: "closed",
    count: 14,
    seq: 15,
  });
  expect(await anchorsOf()).toMatchObject([{ value: { seq: 15, file } }]);
  expect(await runMain(["audit", "verify"])).toMatchObject({ code: 0, stdout: `✓ ${file}: 15 records\n` });
});

describe("fault 94: the end of the audit is cut off", () => {
  test("after the gateway was closed", async () => {
    const file = await recordCalls(7);
    await save(file, (await readLines(file)).slice(0, -6));
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "cut", seq: 9, line: 9 }] });
    expect(await verify(file)).toMatchObject({ code: 1, faults: [{ kind: "cut" }] });
    const { stdout } = await runMain(["audit", "verify"]);
    expect(stdout).toContain(`✗ ${file}: line 9: record 9`);
    expect(stdout).toContain("6 records after it were cut off");
  });

  test("after the gateway was killed", async () => {
    await mkdir(folder, { recursive: true });
    const file = join(folder, "killed.jsonl");
    const fixture = fileURLToPath(new URL("../fixtures/audited-gateway.ts", import.meta.url));
    const jiti = join(createRequire(import.meta.url).resolve("jiti/package.json"), "../lib/jiti-cli.mjs");
    const args = "Deno" in globalThis ? ["run", "-A", fixture, file, "5"] : [jiti, fixture, file, "5"];
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(() => void child.kill("SIGKILL"));
    const ended = new Promise((resolve) => child.once("exit", resolve));
    await until(async () => {
      const [anchor] = await anchorsOf();
      return (anchor?.value as { seq?: number } | undefined)?.seq === 10;
    }, 30_000);
    child.kill("SIGKILL");
    await ended;
    expect(await verify()).toMatchObject({ code: 0, files: [{ file, records: 10 }] });
    await save(file, (await readLines(file)).slice(0, -1));
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "cut", seq: 9 }] });
  });

  test("and the anchor is taken away or changed as well", async () => {
    const exported = join(home, "..", "elsewhere", "anchors.jsonl");
    const file = await recordCalls(7, { anchor: exported });
    await save(file, (await readLines(file)).slice(0, -6));
    const store = fileStore(join(home, "store"));
    for (const { key, value } of await anchorsOf()) {
      const shorter = JSON.parse((await readLines(file)).at(-1) ?? "") as { seq: number; hash: string };
      await store.replace(key, { ...value, seq: shorter.seq, hash: shorter.hash });
    }
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "anchor" }] });
    await rm(join(home, "store"), { recursive: true });
    // Nothing here knows better, and that is said.
    expect((await runMain(["audit", "verify"])).stdout).toContain("nothing shows where it ends");
    expect(await verify("--anchors", exported)).toMatchObject({ code: 1, faults: [{ kind: "cut", seq: 9 }] });
  });

  test("and an anchor that is damaged does not pass for none", async () => {
    await recordCalls(2);
    const values = join(home, "store", "audit", "values");
    for (const name of await readdir(values)) await writeFile(join(values, name), "x");
    const { code, stdout } = await runMain(["audit", "verify"]);
    expect(stdout).toContain("an anchor that cannot be read");
    expect(code).toBe(1);
  });
});

describe("fault 95: a file of the audit is removed", () => {
  test("alone, or with its folder", async () => {
    const file = await recordCalls(7);
    await rm(file);
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "missing", file }] });
    await rm(folder, { recursive: true });
    const { code, stdout } = await runMain(["audit", "verify"]);
    expect(stdout).toMatch(new RegExp(`✗ ${file}: is missing: on .* it had 15 records`));
    expect(code).toBe(1);
  });

  test("or replaced by one of other records", async () => {
    const file = await recordCalls(7);
    await rm(file);
    await recordCalls(1);
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "missing", file }] });
  });

  test("by the gateway itself, as it is too old or too much: then nothing is missing", async () => {
    const exported = join(home, "..", "anchors.jsonl");
    const file = await recordCalls(7, { anchor: exported });
    await recordCalls(1, { folder, maxBytes: 0, anchor: exported });
    expect(await readdir(folder)).not.toContain(file.split("/").at(-1));
    expect(await verify("--anchors", exported)).toMatchObject({ code: 0, faults: [] });
  });
});

describe("fault 96: all records are rewritten, with new hashes", () => {
  test.each<[what: string, change: (record: object) => object]>([
    ["as if no key were needed", ({ key_id: _, ...rest }: { key_id?: string }) => forge(rest)],
    ["under the name of the key", forge],
  ])("%s", async (_, change) => {
    const file = await recordCalls(67);
    await rewrite(file, change);
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "rewritten", file }] });
  });

  test("under a key that is not the gateway's", async () => {
    const file = await recordCalls(3);
    await rewrite(file, forge, createSigner(Buffer.alloc(32, 7)));
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "changed", line: 1 }] });
  });

  test("under the gateway's own key, by its own user: an exported anchor shows it", async () => {
    const exported = join(home, "..", "anchors.jsonl");
    const file = await recordCalls(3, { anchor: exported });
    await rewrite(file, forge, createSigner(installationKey(join(home, "audit.key"))));
    await rm(join(home, "store"), { recursive: true });
    expect(await verify()).toMatchObject({ code: 0 });
    expect(await verify("--anchors", exported)).toMatchObject({ code: 1, faults: [{ kind: "rewritten" }] });
    await writeFile(
      join(home, "..", "toolpipe.json"),
      JSON.stringify({ options: { audit: { anchor: exported } } }),
    );
    const config = join(home, "..", "toolpipe.json");
    expect(await verify("--config", config)).toMatchObject({ code: 1, faults: [{ kind: "rewritten" }] });
  });

  test("and the key is gone: nothing passes unverified", async () => {
    const file = await recordCalls(3);
    const key = join(home, "..", "audit.key");
    await writeFile(key, await readFile(join(home, "audit.key")));
    await rm(join(home, "audit.key"));
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "key", file }] });
    expect(await verify("--key", key)).toMatchObject({ code: 0, faults: [] });
  });
});

describe("fault 97: records are of the format without a key", () => {
  /** Records as versions before wrote them. */
  async function writeOld(file: string): Promise<void> {
    const sink = fileSink(file);
    for (let id = 0; id < 4; id++) await sink.write(record(id));
    await sink.close();
    expect(await readFile(file, "utf8")).not.toContain("key_id");
  }

  test("they are verified, and said to be without a key", async () => {
    const file = join(folder, "20260101T000000Z-999999999.jsonl");
    await writeOld(file);
    expect(await runMain(["audit", "verify"])).toMatchObject({
      code: 0,
      stdout: `✓ ${file}: 4 records, without a key\n`,
    });
    await recordCalls(1);
    expect((await runMain(["audit", "verify"])).stdout).toBe(
      `✓ ${file}: 7 records, 4 of them without a key\n`,
    );
    const lines = await readLines(file);
    await save(file, lines.with(1, (lines[1] ?? "").replace("demo:add", "demo:del")));
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "changed", line: 2 }] });
  });

  test("a record without a key does not go on where records have one", async () => {
    const file = await recordCalls(1);
    const [last] = (await readLines(file)).slice(-1).map((line) => JSON.parse(line));
    const place = { chain: last.chain as string, seq: last.seq + 1, prev_hash: last.hash as string };
    const added = JSON.parse(canonicalRecord(record("added"), place)) as object;
    await appendFile(file, `${JSON.stringify({ ...added, hash: hashRecord(added) })}\n`);
    expect(await verify()).toMatchObject({ code: 1, faults: [{ kind: "rewritten", line: 4 }] });
    expect(createChain().id).not.toBe(last.chain);
  });
});

test("anchors that cannot be kept are told on stderr, once, and cost no call", async () => {
  const errors: string[] = [];
  const printed: string[] = [];
  const spy = vi.spyOn(process.stderr, "write").mockImplementation((text) => printed.push(String(text)) > 0);
  onTestFinished(() => spy.mockRestore());
  const file = join(folder, "a.jsonl");
  await mkdir(folder, { recursive: true });
  await writeFile(join(home, "blocked"), "");
  const tool = { name: "echo", inputSchema: { type: "object" }, run: () => textResult("") };
  const gateway = await createGateway({
    plugins: [
      audit({ file, anchor: join(home, "blocked", "anchors.jsonl") }),
      localTools("box", { id: "box" }, [tool]),
      { name: "listener", setup: () => ({ error: ({ message }) => void errors.push(message) }) },
    ],
  });
  for (let call = 0; call < 3; call++) expect((await gateway.run({ tool: "box:echo" })).ok).toBe(true);
  await gateway.close();
  expect(errors).toEqual([expect.stringContaining("The end of the audit is not kept elsewhere")]);
  expect(printed).toEqual([`toolpipe: ${errors[0]}\n`]);
  spy.mockRestore();
  expect(await verify("--file", file)).toMatchObject({ code: 0 });
});
