import { readdir, readFile, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { createStorage } from "unstorage";
import fsLite from "unstorage/drivers/fs-lite";
import { describe, expect, test } from "vitest";
import { type Cache, createCache, fileStorage } from "../../../plugins/cache/mod.ts";
import { cacheContract } from "../../contracts/cache.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

cacheContract("memory", async () => createStorage());
cacheContract("files", async () => fileStorage(await temporaryFolder()));
cacheContract("the files of unstorage", async () =>
  createStorage({ driver: fsLite({ base: await temporaryFolder() }) }),
);

function neverTroubled(cause: unknown): void {
  throw cause;
}

/** Creates a cache on files without memory, so that every answer comes from the disk. */
async function onDisk(folder: string): Promise<Cache> {
  return createCache({ storage: fileStorage(folder), onTrouble: neverTroubled });
}

describe("a cache in memory alone", () => {
  test("keeps the last thousand and lets go of what was not used for longest", async () => {
    const cache = createCache({ onTrouble: neverTroubled });
    for (let index = 0; index < 1_000; index++) await cache.set(`k${index}`, index, 1_000);
    expect(await cache.get("k0")).toBe(0);
    await cache.set("k1000", 1_000, 1_000);
    expect(await cache.get("k0")).toBe(0);
    expect(await cache.get("k1")).toBeUndefined();
    expect(await cache.get("k1000")).toBe(1_000);
  });
});

describe("a storage that fails", () => {
  test("is told of once, and never fails the cache", async () => {
    const fail = (): never => {
      throw new Error("no");
    };
    const driver = { hasItem: fail, getItem: fail, setItem: fail, removeItem: fail, getKeys: fail };
    const troubles: unknown[] = [];
    const cache = createCache({
      storage: createStorage({ driver }),
      onTrouble: (cause) => troubles.push(cause),
    });
    expect(await cache.get("k")).toBeUndefined();
    await cache.set("k", 1, 1_000);
    expect(await cache.get("k")).toBe(1);
    await cache.clear("k");
    expect(await cache.get("k")).toBeUndefined();
    await cache.set("k", 2, 1_000);
    await cache.clear();
    expect(await cache.get("k")).toBeUndefined();
    expect(troubles).toEqual([new Error("no")]);
  });

  test("a value that is no JSON is kept in memory and fails nothing", async () => {
    const troubles: unknown[] = [];
    const cache = createCache({ storage: createStorage(), onTrouble: (cause) => troubles.push(cause) });
    const circle: { self?: unknown } = {};
    circle.self = circle;
    await cache.set("k", circle, 1_000);
    expect(await cache.get("k")).toBe(circle);
    expect(troubles).toHaveLength(1);
  });
});

describe("files", () => {
  test("fault 54: a flipped bit or a missing end anywhere costs the value and nothing else", async () => {
    const folder = await temporaryFolder();
    const value = { tools: [{ name: "a", inputSchema: { type: "object" } }], text: "größer" };
    await (await onDisk(folder)).set("k", value, 60_000);
    const [name = ""] = await readdir(folder);
    const whole = await readFile(join(folder, name));
    const damage = fc.oneof(
      fc.record({ bit: fc.nat(whole.length * 8 - 1) }),
      fc.record({ length: fc.nat(whole.length - 1) }),
    );
    await fc.assert(
      fc.asyncProperty(damage, async (how) => {
        const bytes = Buffer.from(whole);
        if ("bit" in how)
          bytes.writeUInt8(bytes.readUInt8(how.bit >> 3) ^ (1 << (how.bit & 7)), how.bit >> 3);
        await writeFile(join(folder, name), "bit" in how ? bytes : bytes.subarray(0, how.length));
        expect(await (await onDisk(folder)).get("k")).toBeUndefined();
        expect(await readdir(folder)).toEqual([]);
      }),
      { numRuns: 200 },
    );
    await (await onDisk(folder)).set("k", value, 60_000);
    expect(await (await onDisk(folder)).get("k")).toEqual(value);
  });

  test.skipIf(process.platform === "win32")(
    "one that cannot be read is a trouble, and is replaced",
    async () => {
      const folder = await temporaryFolder();
      await (await onDisk(folder)).set("k", 1, 1_000);
      const [name = ""] = await readdir(folder);
      await rm(join(folder, name));
      await symlink(name, join(folder, name));
      const troubles: unknown[] = [];
      const storage = fileStorage(folder);
      const cache = createCache({ storage, onTrouble: (cause) => troubles.push(cause) });
      expect(await cache.get("k")).toBeUndefined();
      expect(troubles).toMatchObject([{ code: "ELOOP" }]);
      await cache.set("k", 2, 1_000);
      expect(await (await onDisk(folder)).get("k")).toBe(2);
    },
  );

  test("can be read by their owner alone, and stand in a folder that is made when it is needed", async () => {
    const folder = join(await temporaryFolder(), "not", "yet");
    const cache = await onDisk(folder);
    expect(await cache.get("k")).toBeUndefined();
    await expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });
    await cache.set("a key", 1, 1_000);
    const [name = ""] = await readdir(folder);
    expect(name).toMatch(/^toolpipe-a-key-[0-9a-f]{16}$/);
    if (process.platform === "win32") return;
    expect((await stat(folder)).mode & 0o777).toBe(0o700);
    expect((await stat(join(folder, name))).mode & 0o777).toBe(0o600);
  });

  test("removes temporary files of a killed process in time, and no sooner", async () => {
    const folder = await temporaryFolder({ "toolpipe-a.old.draft": "x", "toolpipe-a.new.draft": "x" });
    const hoursAgo = new Date(Date.now() - 2 * 3_600_000);
    await utimes(join(folder, "toolpipe-a.old.draft"), hoursAgo, hoursAgo);
    const cache = await onDisk(folder);
    await cache.set("k", 1, 1_000);
    expect((await readdir(folder)).filter((name) => name.endsWith(".draft"))).toEqual([
      "toolpipe-a.new.draft",
    ]);
    await cache.clear();
    expect(await readdir(folder)).toEqual([]);
  });
});
