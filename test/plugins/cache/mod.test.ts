import { spawnSync } from "node:child_process";
import { mkdtempSync, rmdirSync } from "node:fs";
import { chmod, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createStorage } from "unstorage";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Gateway, GatewayError } from "../../../core/mod.ts";
import { type CacheOptions, cache } from "../../../plugins/cache/mod.ts";
import { catchFailure } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

async function openCache(options: CacheOptions): Promise<{ gateway: Gateway; errors: GatewayError[] }> {
  const errors: GatewayError[] = [];
  const listener = {
    name: "listener",
    setup: () => ({ error: (error: GatewayError) => void errors.push(error) }),
  };
  const gateway = await openGateway({ plugins: [cache(options), listener] });
  return { gateway, errors };
}

/** Whether a file system of our own can be put somewhere. */
const canMount = process.platform === "linux" && process.getuid?.() === 0 && tryMount();

function tryMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), "toolpipe-test-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "none", folder]).status === 0;
  if (mounted) spawnSync("umount", [folder]);
  rmdirSync(folder);
  return mounted;
}

function mount(folder: string, options: string): void {
  const { status, stderr } = spawnSync("mount", ["-t", "tmpfs", "-o", options, "none", folder]);
  if (status !== 0) throw new Error(`It could not be mounted: ${stderr}`);
  onTestFinished(() => void spawnSync("umount", [folder]));
}

describe("the plugin", () => {
  test("offers the cache, with how long lists are fresh: an hour by default", async () => {
    const folder = await temporaryFolder();
    const { gateway } = await openCache({ folder });
    expect(gateway.services.cache?.ttlMs).toBe(3_600_000);
    await gateway.services.cache?.set("k", 1, 1_000);
    const next = await openCache({ folder, ttl: 1.5 });
    expect(next.gateway.services.cache?.ttlMs).toBe(1_500);
    expect(await next.gateway.services.cache?.get("k")).toBe(1);
  });

  test("offers nothing where it is switched off, and touches no file", async () => {
    const folder = join(await temporaryFolder(), "cache");
    const { gateway } = await openCache({ enabled: false, folder });
    expect(gateway.services.cache).toBeUndefined();
    await expect(readdir(folder)).rejects.toMatchObject({ code: "ENOENT" });
  });

  test("uses any storage instead of files", async () => {
    const folder = await temporaryFolder();
    const storage = createStorage();
    const { gateway } = await openCache({ storage, folder });
    await gateway.services.cache?.set("k", 1, 1_000);
    expect(await storage.getKeys()).toHaveLength(1);
    expect(await readdir(folder)).toEqual([]);
  });

  describe("a storage by name or path", () => {
    const roundTrip = async (storage: CacheOptions["storage"]): Promise<void> => {
      const { gateway, errors } = await openCache(storage === undefined ? {} : { storage });
      const made = gateway.services.cache;
      await made?.set("k", { n: 1 }, 60_000);
      await made?.setBytes("b", Uint8Array.of(1, 2, 3), 60_000);
      // Not from memory.
      expect(await made?.get("k", { stored: true })).toEqual({ n: 1 });
      expect(await made?.getBytes("b")).toEqual(Uint8Array.of(1, 2, 3));
      await made?.clear();
      expect(await made?.getBytes("b")).toBeUndefined();
      expect(errors).toEqual([]);
    };

    test("is files in a folder", async () => {
      const folder = await temporaryFolder();
      const { gateway } = await openCache({ storage: { type: "files", folder } });
      await gateway.services.cache?.set("k", 1, 60_000);
      expect(await readdir(folder)).toHaveLength(1);
    });

    test("is memory", () => roundTrip("memory"));

    test("is a driver of unstorage, with its options", async () => {
      const base = await temporaryFolder();
      await roundTrip({ type: "fs-lite", base });
      await roundTrip("lru-cache");
    });

    test("is a module that exports a driver as unstorage defines it", async () => {
      const folder = await temporaryFolder({
        "my-driver.mjs": `
          export default ({ prefix = "" }) => {
            const items = new Map();
            return {
              name: "mine",
              hasItem: (key) => items.has(prefix + key),
              getItem: (key) => items.get(prefix + key) ?? null,
              getItemRaw: (key) => items.get(prefix + key) ?? null,
              setItem: (key, value) => void items.set(prefix + key, value),
              setItemRaw: (key, value) => void items.set(prefix + key, value),
              removeItem: (key) => void items.delete(prefix + key),
              getKeys: () => [...items.keys()].map((key) => key.slice(prefix.length)),
            };
          };`,
      });
      await roundTrip(`${folder}/my-driver.mjs`);
      await roundTrip({ type: `${folder}/my-driver.mjs`, prefix: "x-" });
    });

    test("that is not there ends the start", async () => {
      await expect(openCache({ storage: "memroy" })).rejects.toThrow(
        'There is no cacheStorage "memroy"; did you mean "memory"?',
      );
    });
  });

  test.each([{ ttl: -1 }, { storage: {} }, { folder: 7 }, { unknown: true }])(
    "refuses the option %o",
    async (options) => {
      const made = Promise.resolve().then(() => cache(options as CacheOptions));
      expect((await catchFailure(made)).code).toBe("PLUGIN_INVALID");
    },
  );
});

describe("fault 53: a folder that cannot be used", () => {
  /** Checks an unusable folder: one warning with the path and the reason, and a cache that works. */
  async function worksInMemory(folder: string, code: RegExp, value: unknown = 1): Promise<void> {
    const { gateway, errors } = await openCache({ folder });
    const made = gateway.services.cache;
    expect(await made?.get("k")).toBeUndefined();
    for (let round = 0; round < 3; round++) {
      await made?.set("k", value, 60_000);
      expect(await made?.get("k")).toEqual(value);
    }
    await made?.clear("other");
    expect(errors.map((error) => error.code)).toEqual(["CACHE_UNAVAILABLE"]);
    expect(errors[0]?.message).toContain(folder);
    expect(errors[0]?.message).toMatch(code);
    expect(errors[0]?.message).toContain("it works in memory only");
    // The next gateway is none the worse for it.
    const next = await openCache({ folder });
    expect(await next.gateway.services.cache?.get("k")).toBeUndefined();
  }

  test("cannot be created, because a file has its name", async () => {
    const folder = join(await temporaryFolder({ file: "" }), "file", "cache");
    await worksInMemory(folder, /ENOTDIR/);
  });

  // To root no folder is read-only, and no other user can mount one that is full: each of them has its own test.
  test(canMount ? "it is on a read-only file system" : "it is read-only", async () => {
    const folder = await temporaryFolder();
    if (canMount) mount(folder, "ro");
    else {
      await chmod(folder, 0o555);
      onTestFinished(() => chmod(folder, 0o755));
    }
    await worksInMemory(folder, /EROFS|EACCES|EPERM/);
  });

  test.runIf(canMount)("the disk is full, and nothing half-written is left behind", async () => {
    const folder = await temporaryFolder();
    mount(folder, "size=64k");
    await worksInMemory(folder, /ENOSPC/, "x".repeat(200_000));
    expect(await readdir(folder)).toEqual([]);
  });
});
