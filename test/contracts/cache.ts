import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Cache, type CacheStorage, createCache } from "../../plugins/cache/mod.ts";

/** The contract of the cache on every storage. `make` returns a new, empty one. */
export function cacheContract(name: string, make: () => Promise<CacheStorage>): void {
  /** Caches that share a storage and a clock, as one process does with the next. */
  const shared = async (): Promise<{ storage: CacheStorage; clock: { now: number }; open: () => Cache }> => {
    const storage = await make();
    const clock = { now: 1_000_000 };
    const onTrouble = (cause: unknown): void => {
      throw cause;
    };
    return { storage, clock, open: () => createCache({ storage, onTrouble, now: () => clock.now }) };
  };

  describe(`the cache on ${name}`, () => {
    test("has nothing at first, and forgets nothing that is not there", async () => {
      const { open } = await shared();
      const cache = open();
      expect(await cache.get("k")).toBeUndefined();
      await cache.clear("k");
      await cache.clear();
    });

    test("a value of one instance is read by the next", async () => {
      const { open } = await shared();
      await open().set("k", { list: [1, null, "ü\n\u2028"] }, 1_000);
      expect(await open().get("k")).toEqual({ list: [1, null, "ü\n\u2028"] });
    });

    test("the last value of a key counts", async () => {
      const { open } = await shared();
      const cache = open();
      await cache.set("k", "a long first value", 1_000);
      await cache.set("k", "b", 1_000);
      expect(await cache.get("k")).toBe("b");
      expect(await open().get("k")).toBe("b");
    });

    test("a value is gone when its time is up, in memory and beyond", async () => {
      const { open, clock, storage } = await shared();
      const cache = open();
      await cache.set("short", 1, 1_000);
      await cache.set("long", 2, 1_001);
      clock.now += 999;
      expect([await cache.get("short"), await open().get("short")]).toEqual([1, 1]);
      clock.now += 1;
      expect([await cache.get("short"), await cache.get("long")]).toEqual([undefined, 2]);
      expect(await open().get("short")).toBeUndefined();
      expect(await storage.getKeys()).toHaveLength(1);
    });

    test("a value may be kept forever, or not at all", async () => {
      const { open, clock } = await shared();
      await open().set("ever", 1, Number.POSITIVE_INFINITY);
      await open().set("never", 1, 0);
      clock.now += 1e12;
      expect([await open().get("ever"), await open().get("never")]).toEqual([1, undefined]);
    });

    test("reads a value that another instance renewed, once its own has expired", async () => {
      const { open, clock } = await shared();
      const [one, two] = [open(), open()];
      await one.set("k", "old", 10);
      await two.set("k", "new", 1_000);
      clock.now += 20;
      expect(await one.get("k")).toBe("new");
    });

    test("clear forgets one key, or all of them", async () => {
      const { open } = await shared();
      const cache = open();
      for (const key of ["a", "b", "c"]) await cache.set(key, key, 1_000);
      await cache.clear("a");
      expect([await cache.get("a"), await cache.get("b")]).toEqual([undefined, "b"]);
      expect(await open().get("a")).toBeUndefined();
      await cache.clear();
      for (const key of ["a", "b", "c"]) {
        expect([await cache.get(key), await open().get(key)]).toEqual([undefined, undefined]);
      }
    });

    test("clear leaves alone what others keep in the same storage", async () => {
      const { open, storage } = await shared();
      await storage.setItemRaw("holiday-pictures", "precious");
      await open().set("k", 1, 1_000);
      await open().clear();
      expect(String(await storage.getItemRaw("holiday-pictures"))).toBe("precious");
      expect(await storage.getKeys()).toHaveLength(1);
    });

    test("a value under the name of another key is not taken for it", async () => {
      const { open, storage } = await shared();
      await open().set("a", "of a", 1_000);
      const [name = ""] = await storage.getKeys();
      const stored = await storage.getItemRaw(name);
      await open().set("b", "of b", 1_000);
      const other = (await storage.getKeys()).find((key) => key !== name) ?? "";
      await storage.setItemRaw(other, stored);
      expect(await open().get("b")).toBeUndefined();
    });

    test("ignores and removes foreign values", async () => {
      const { open, storage } = await shared();
      await open().set("k", 1, 1_000);
      const [name = ""] = await storage.getKeys();
      for (const foreign of ["", "\n", "{}", "null\nnull", '{"value":1}', "\0".repeat(100)]) {
        await storage.setItemRaw(name, foreign);
        expect(await open().get("k")).toBeUndefined();
        expect(await storage.getKeys()).toEqual([]);
      }
      await open().set("k", 2, 1_000);
      expect(await open().get("k")).toBe(2);
    });

    test("bytes that one has kept, the next one has, where numbers of any size can be read", async () => {
      const { open } = await shared();
      for (const length of [0, 1, 7, 8, 9, 100_000]) {
        const bytes = Uint8Array.from({ length }, (_, place) => (place * 7) % 256);
        await open().setBytes(`b${length}`, bytes, 1_000);
        const found = await open().getBytes(`b${length}`);
        expect(found && Buffer.compare(found, bytes)).toBe(0);
        expect((found?.byteOffset ?? 1) % 8).toBe(0);
      }
    });

    test("bytes are gone when their time is up, and when they are cleared", async () => {
      const { open, clock, storage } = await shared();
      await open().setBytes("short", new Uint8Array(3), 1_000);
      await open().setBytes("cleared", new Uint8Array(3), 5_000);
      clock.now += 1_000;
      expect(await open().getBytes("short")).toBeUndefined();
      await open().clear("cleared");
      expect(await open().getBytes("cleared")).toBeUndefined();
      expect(await storage.getKeys()).toEqual([]);
    });

    test("bytes that are damaged, cut off, foreign or of another key are not handed out", async () => {
      const { open, storage } = await shared();
      const keep = (key: string): Promise<void> => open().setBytes(key, Uint8Array.of(1, 2, 3, 4, 5), 1_000);
      await keep("k");
      const [name = ""] = await storage.getKeys();
      const stored = new Uint8Array((await storage.getItemRaw(name)) as Uint8Array);
      const place = fc.nat(stored.length - 1);
      await fc.assert(
        fc.asyncProperty(place, fc.integer({ min: 1, max: 255 }), async (at, flip) => {
          const damaged = stored.slice();
          damaged[at] = (damaged[at] ?? 0) ^ flip;
          for (const raw of [damaged, stored.slice(0, at)]) {
            await storage.setItemRaw(name, raw);
            expect(await open().getBytes("k")).toBeUndefined();
            expect(await storage.getKeys()).toEqual([]);
          }
        }),
        { numRuns: 30 },
      );
      await open().set("k", "a text", 1_000);
      expect(await open().getBytes("k")).toBeUndefined();
      await keep("other");
      const [other = ""] = await storage.getKeys();
      await storage.setItemRaw(other, stored);
      expect(await open().getBytes("other")).toBeUndefined();
    });

    test("keeps any key and any JSON apart and whole", async () => {
      const key = fc.oneof(
        fc.string({ unit: "binary", maxLength: 20 }),
        fc.constantFrom("", "a", "A", "../x", "a/b", "a:b", "con", "\ud800", "\ud801", "k".repeat(300)),
      );
      const entries = fc.uniqueArray(fc.tuple(key, fc.jsonValue()), {
        selector: ([unique]) => unique,
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(entries, async (pairs) => {
          const { open } = await shared();
          const cache = open();
          for (const [each, value] of pairs) await cache.set(each, value, 1_000);
          for (const [each, value] of pairs) {
            const whole: unknown = JSON.parse(JSON.stringify(value));
            expect(await open().get(each)).toEqual(whole);
          }
        }),
        { numRuns: 20 },
      );
    });
  });
}
