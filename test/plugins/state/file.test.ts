import { spawnSync } from "node:child_process";
import { chmod, mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fileStore } from "../../../plugins/state/mod.ts";
import { stateStoreContract } from "../../contracts/state-store.ts";
import { catchFailure } from "../../support/failure.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { workerCommand } from "./_worker.ts";

stateStoreContract("file", async () => fileStore(await temporaryFolder()));

/** Every file below a folder, by path. */
async function listFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}

/** The only file of a group's values. */
async function valueFile(folder: string, group = "g"): Promise<string> {
  const files = await listFiles(join(folder, group, "values"));
  expect(files).toHaveLength(1);
  return String(files[0]);
}

describe("the folder", () => {
  test("is not made before something is set", async () => {
    const folder = join(await temporaryFolder(), "deep", "state");
    const store = fileStore(folder);
    expect(await store.get("g/k")).toBeUndefined();
    expect(await store.list("g/")).toEqual([]);
    expect(await store.delete("g/k")).toBe(false);
    expect(await store.replace("g/k", {}, "0".repeat(32))).toBe(false);
    await expect(stat(join(folder, ".."))).rejects.toMatchObject({ code: "ENOENT" });
    await store.setIfAbsent("g/k", { n: 1 });
    expect((await stat(folder)).isDirectory()).toBe(true);
  });

  test.skipIf(process.platform === "win32")("is closed to other users, and so are its files", async () => {
    const folder = join(await temporaryFolder(), "state");
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", { n: 1 });
    await store.replace("g/k", { n: 2 });
    for (const name of ["", ...(await readdir(folder, { recursive: true }))]) {
      const { mode } = await stat(join(folder, name));
      expect(mode & 0o077, name).toBe(0);
    }
  });

  test("is the same for every store that is made of it", async () => {
    const folder = await temporaryFolder();
    await fileStore(folder).setIfAbsent("g/k", { n: 1 });
    expect((await fileStore(folder).get("g/k"))?.value).toEqual({ n: 1 });
  });

  test("holds no more than its keys need, however often they change", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    for (let n = 0; n < 20; n++) await store.replace("g/k", { n });
    await store.setIfAbsent("g/k", { n: -1 });
    expect(await listFiles(folder)).toHaveLength(2);
    await store.delete("g/k");
    // The mark of a deleted key stays until the next sweep.
    expect(await listFiles(folder)).toHaveLength(1);
    expect(await fileStore(folder).list("g/")).toEqual([]);
    expect(await listFiles(folder)).toEqual([]);
    expect(await readdir(join(folder, "g", "keys"))).toEqual([]);
  });

  test("names no key in the open", async () => {
    const folder = await temporaryFolder();
    await fileStore(folder).setIfAbsent("g/../../etc/passwd", { n: 1 });
    for (const file of await listFiles(folder)) expect(file).not.toContain("passwd");
  });

  test("may be cleared while a store uses it", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", { n: 1 });
    await rm(folder, { recursive: true });
    expect(await store.get("g/k")).toBeUndefined();
    expect(await store.setIfAbsent("g/k", { n: 2 })).toBe(true);
    expect((await store.get("g/k"))?.value).toEqual({ n: 2 });
  });

  test("may lose its empty folders, as where files are copied from a backup", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", { n: 1 });
    await rm(join(folder, "g", "drafts"), { recursive: true });
    expect(await store.replace("g/k", { n: 2 })).toBe(true);
  });
});

describe("a folder that cannot be written", () => {
  test("is an error with the reason", async () => {
    const file = join(await temporaryFolder({ file: "in the way" }), "file");
    const store = fileStore(join(file, "state"));
    expect(await store.get("g/k")).toBeUndefined();
    for (const act of ["setIfAbsent", "replace"] as const) {
      const error = await catchFailure(store[act]("g/k", {}));
      expect(error).toMatchObject({ code: "STATE_UNAVAILABLE", kind: { retry: true } });
      expect(error.message).toMatch(/^The state in .* cannot be written \(E[A-Z]+\)\.$/);
    }
  });

  test.skipIf(process.platform === "win32")("still gives what is in it, but takes nothing", async () => {
    const folder = await temporaryFolder();
    await fileStore(folder).setIfAbsent("g/k", { n: 1 });
    const everything = [
      folder,
      ...(await readdir(folder, { recursive: true })).map((name) => join(folder, name)),
    ];
    for (const path of everything) await chmod(path, (await stat(path)).isDirectory() ? 0o555 : 0o444);
    // Nothing is read-only for the superuser, so another user tries.
    const [command, ...args] = workerCommand(folder, "try");
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { stdout, stderr } = spawnSync(command, args, { encoding: "utf8", ...user });
    for (const path of everything) await chmod(path, 0o700);
    expect(stderr).toBe("");
    expect(JSON.parse(stdout)).toEqual({
      get: { n: 1 },
      list: 1,
      setIfAbsent: false,
      setAnother: "STATE_UNAVAILABLE",
      replace: "STATE_UNAVAILABLE",
      delete: "STATE_UNAVAILABLE",
    });
  });
});

describe("a damaged file", () => {
  const damages: Record<string, (file: string) => Promise<void>> = {
    "cut short": async (file) => writeFile(file, (await readFile(file, "utf8")).slice(0, -5)),
    empty: (file) => writeFile(file, ""),
    "of another format": async (file) =>
      writeFile(file, (await readFile(file, "utf8")).replace("toolpipe-state-1", "toolpipe-state-2")),
    "edited by hand": async (file) =>
      writeFile(file, (await readFile(file, "utf8")).replace('"n":1', '"n":7')),
    "not text": (file) => writeFile(file, Buffer.from([0xff, 0xfe, 0x00, 0x80])),
    "not there": (file) => rm(file),
  };

  test.each(Object.entries(damages))("that is %s never counts as missing", async (_what, damage) => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", { n: 1 });
    const file = await valueFile(folder);
    await store.setIfAbsent("g/other", { n: 1 });
    await damage(file);
    expect(await catchFailure(store.get("g/k"))).toMatchObject({
      code: "STATE_DAMAGED",
      data: { location: file },
    });
    expect(await store.setIfAbsent("g/k", { n: 2 })).toBe(false);
    expect((await store.list("g/")).map(({ key }) => key)).toEqual(["g/other"]);
    expect(await store.listDamaged?.()).toEqual([file]);
  });

  test("is replaced and deleted on request", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    for (const change of ["replace", "delete"] as const) {
      await store.replace("g/k", { n: 1 });
      await writeFile(await valueFile(folder), "{");
      expect(await (change === "replace" ? store.replace("g/k", { n: 2 }) : store.delete("g/k"))).toBe(true);
      expect((await store.get("g/k"))?.value).toEqual(change === "replace" ? { n: 2 } : undefined);
      expect(await store.listDamaged?.()).toEqual([]);
    }
  });

  test("may also be a folder without a version", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", { n: 1 });
    const keys = join(folder, "g", "keys");
    const own = join(keys, String((await readdir(keys))[0]));
    for (const name of await readdir(own)) await rm(join(own, name));
    expect(await catchFailure(store.get("g/k"))).toMatchObject({ code: "STATE_DAMAGED" });
    expect(await store.setIfAbsent("g/k", { n: 2 })).toBe(false);
    expect(await store.replace("g/k", { n: 2 })).toBe(true);
    expect((await store.get("g/k"))?.value).toEqual({ n: 2 });
  });

  test("with any bit changed is never taken for another value", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", { n: 1 });
    const file = await valueFile(folder);
    const whole = await readFile(file);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.integer({ min: 0, max: 7 }), async (place, bit) => {
        const broken = Buffer.from(whole);
        broken[place] = (broken[place] ?? 0) ^ (1 << bit);
        await writeFile(file, broken);
        expect(await catchFailure(store.get("g/k"))).toMatchObject({ code: "STATE_DAMAGED" });
      }),
      { numRuns: 60 },
    );
  });

  test("of another key is not taken for this one", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/a", { n: 1 });
    const keys = join(folder, "g", "keys");
    const own = String((await readdir(keys))[0]);
    await rename(join(keys, own), join(keys, "f".repeat(64)));
    expect(await store.list("g/")).toEqual([]);
    expect(await store.get("g/a")).toBeUndefined();
    expect(await store.listDamaged?.()).toHaveLength(1);
  });

  test("that reaches a prototype does so in vain", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/k", JSON.parse('{"__proto__":{"polluted":1}}'));
    expect(await readFile(await valueFile(folder), "utf8")).toContain("polluted");
    expect((await store.get("g/k"))?.value).toEqual({});
    expect((await store.get("g/k"))?.value["polluted"]).toBeUndefined();
  });
});

describe("foreign files in the folder", () => {
  test("does not get in the way", async () => {
    const folder = await temporaryFolder();
    const store = fileStore(folder);
    await store.setIfAbsent("g/a", { n: 1 });
    const keys = join(folder, "g", "keys");
    const own = String((await readdir(keys))[0]);
    await writeFile(join(keys, own, ".DS_Store"), "notes");
    await writeFile(join(keys, ".DS_Store"), "notes");
    await writeFile(join(folder, "README"), "notes");
    await mkdir(join(folder, "Not A Group"));
    expect(await store.list("")).toHaveLength(1);
    expect(await store.replace("g/a", { n: 2 })).toBe(true);
    expect(await store.delete("g/a")).toBe(true);
    expect(await store.setIfAbsent("g/a", { n: 3 })).toBe(true);
    await rm(join(keys, own), { recursive: true });
    await writeFile(join(keys, own), "a file where a folder belongs");
    expect(await store.get("g/a")).toBeUndefined();
    expect(await store.setIfAbsent("g/a", { n: 4 })).toBe(true);
    expect((await store.get("g/a"))?.value).toEqual({ n: 4 });
  });
});

describe("leftovers of a crashed process", () => {
  /** A store with the key g/a, and an orphan made of its value by these words. */
  async function withOrphan(change: (text: string) => string): Promise<{ folder: string; orphan: string }> {
    const folder = await temporaryFolder();
    await fileStore(folder).setIfAbsent("g/a", { n: 1 });
    const { encodeRecord } = await import("../../../plugins/state/record.ts");
    const version = "e".repeat(32);
    const present = (await fileStore(folder).get("g/a"))?.version;
    const orphan = join(folder, "g", "values", `${version}.txt`);
    const [key = "", after = ""] = change(`${present}`).split(" ");
    await writeFile(orphan, encodeRecord(key, version, after || undefined, "{}"));
    return { folder, orphan };
  }
  const isReachable = (file: string): Promise<boolean> =>
    stat(file).then(
      () => true,
      () => false,
    );

  test.each([
    ["a value for a version that is gone", (): string => `g/a ${"d".repeat(32)}`, false],
    ["a value for a key that is gone", (): string => `g/b ${"d".repeat(32)}`, false],
    ["a value for a new key whose draft is gone", (): string => "g/b", false],
    ["a value for the version that is there", (present: string): string => `g/a ${present}`, true],
  ])("%s is removed by a list if, and only if, it is not needed any more", async (_what, change, kept) => {
    const { folder, orphan } = await withOrphan(change);
    expect(await fileStore(folder).list("g/")).toHaveLength(1);
    expect(await isReachable(orphan)).toBe(kept);
  });

  test("a value whose draft is still there is kept, until the draft is old", async () => {
    const { folder, orphan } = await withOrphan(() => "g/b");
    const draft = join(folder, "g", "drafts", "e".repeat(32));
    await mkdir(draft);
    await writeFile(join(draft, "e".repeat(32)), "");
    await fileStore(folder).list("g/");
    expect([await isReachable(orphan), await isReachable(draft)]).toEqual([true, true]);
    const yesterday = new Date(Date.now() - 86_400_000);
    await utimes(draft, yesterday, yesterday);
    await fileStore(folder).list("g/");
    await fileStore(folder).list("g/");
    expect([await isReachable(orphan), await isReachable(draft)]).toEqual([false, false]);
    expect(await fileStore(folder).list("g/")).toHaveLength(1);
  });
});
