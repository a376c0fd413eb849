import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../core/mod.ts";
import { type StateStore, updateState } from "../../core/services/state.ts";
import { catchFailure } from "../support/failure.ts";

/** The contract of every state store. `make` returns a new, empty one. */
export function stateStoreContract(name: string, make: () => Promise<StateStore>): void {
  /** The version of a key, which must be there. */
  const readVersion = async (store: StateStore, key: string): Promise<string> => {
    const entry = await store.get(key);
    if (!entry) throw new Error(`${key} was expected to be there.`);
    return entry.version;
  };

  describe(`the ${name} store`, () => {
    test("has nothing at first", async () => {
      const store = await make();
      expect(await store.get("g/k")).toBeUndefined();
      expect(await store.list("")).toEqual([]);
      expect(await store.delete("g/k")).toBe(false);
    });

    test("sets a key once", async () => {
      const store = await make();
      expect(await store.setIfAbsent("g/k", { by: 1 })).toBe(true);
      expect(await store.setIfAbsent("g/k", { by: 2 })).toBe(false);
      expect(await store.get("g/k")).toMatchObject({ key: "g/k", value: { by: 1 } });
    });

    test("lets one of many set a key", async () => {
      const store = await make();
      const tries = Array.from({ length: 20 }, (_, by) => store.setIfAbsent("g/k", { by }));
      const won = (await Promise.all(tries)).flatMap((done, by) => (done ? [by] : []));
      expect(won).toHaveLength(1);
      expect((await store.get("g/k"))?.value).toEqual({ by: won[0] });
    });

    test("gives every change another version, and none to a change that did not happen", async () => {
      const store = await make();
      const seen = new Set<string>();
      await store.setIfAbsent("g/k", { n: 0 });
      seen.add(await readVersion(store, "g/k"));
      await store.replace("g/k", { n: 0 });
      seen.add(await readVersion(store, "g/k"));
      await store.delete("g/k");
      await store.setIfAbsent("g/k", { n: 0 });
      const last = await readVersion(store, "g/k");
      expect(seen.add(last).size).toBe(3);
      await store.setIfAbsent("g/k", { n: 1 });
      await store.replace("g/k", { n: 1 }, "another");
      expect(await readVersion(store, "g/k")).toBe(last);
    });

    test("replaces whatever is there, and also nothing, if no version is expected", async () => {
      const store = await make();
      expect(await store.replace("g/k", { n: 1 })).toBe(true);
      expect(await store.replace("g/k", { n: 2 })).toBe(true);
      expect((await store.get("g/k"))?.value).toEqual({ n: 2 });
    });

    test("replaces and deletes only the version that is expected", async () => {
      const store = await make();
      await store.setIfAbsent("g/k", { n: 1 });
      const first = await readVersion(store, "g/k");
      expect(await store.replace("g/k", { n: 2 }, first)).toBe(true);
      expect(await store.replace("g/k", { n: 3 }, first)).toBe(false);
      expect(await store.delete("g/k", first)).toBe(false);
      expect((await store.get("g/k"))?.value).toEqual({ n: 2 });
      expect(await store.delete("g/k", await readVersion(store, "g/k"))).toBe(true);
      expect(await store.get("g/k")).toBeUndefined();
    });

    test("does not take a key that came back for the one that was there before", async () => {
      const store = await make();
      await store.setIfAbsent("g/k", { life: 1 });
      const first = await readVersion(store, "g/k");
      await store.delete("g/k");
      expect(await store.replace("g/k", { life: 1 }, first)).toBe(false);
      await store.setIfAbsent("g/k", { life: 2 });
      expect(await store.replace("g/k", { life: 1 }, first)).toBe(false);
      expect(await store.delete("g/k", first)).toBe(false);
      expect((await store.get("g/k"))?.value).toEqual({ life: 2 });
    });

    test("lets one of many replace a version", async () => {
      const store = await make();
      await store.setIfAbsent("g/k", { by: -1 });
      const version = await readVersion(store, "g/k");
      const tries = Array.from({ length: 20 }, (_, by) => store.replace("g/k", { by }, version));
      const won = (await Promise.all(tries)).flatMap((done, by) => (done ? [by] : []));
      expect(won).toHaveLength(1);
      expect((await store.get("g/k"))?.value).toEqual({ by: won[0] });
    });

    test("loses no update of many at the same time", async () => {
      const store = await make();
      const increment = (value: JsonObject | undefined): JsonObject => ({ n: Number(value?.["n"] ?? 0) + 1 });
      await Promise.all(Array.from({ length: 20 }, () => updateState(store, "g/k", increment)));
      expect((await store.get("g/k"))?.value).toEqual({ n: 20 });
    });

    test("leaves a key alone that an update does not want to change", async () => {
      const store = await make();
      expect(await updateState(store, "g/k", () => undefined)).toBeUndefined();
      expect(await store.get("g/k")).toBeUndefined();
      await store.setIfAbsent("g/k", { n: 1 });
      const version = await readVersion(store, "g/k");
      expect(await updateState(store, "g/k", () => undefined)).toEqual({ n: 1 });
      expect(await readVersion(store, "g/k")).toBe(version);
    });

    test("lists by prefix, in order", async () => {
      const store = await make();
      for (const key of ["b/2", "a/1", "b/1", "b/10", "ba/1", "plain", "B/1"])
        await store.setIfAbsent(key, { key });
      const keys = async (prefix: string): Promise<string[]> =>
        (await store.list(prefix)).map(({ key }) => key);
      expect(await keys("b/")).toEqual(["b/1", "b/10", "b/2"]);
      expect(await keys("b/1")).toEqual(["b/1", "b/10"]);
      expect(await keys("b")).toEqual(["b/1", "b/10", "b/2", "ba/1"]);
      expect(await keys("")).toEqual(["B/1", "a/1", "b/1", "b/10", "b/2", "ba/1", "plain"]);
      expect(await keys("none/")).toEqual([]);
      expect((await store.list("a/"))[0]).toEqual(await store.get("a/1"));
    });

    test("keeps a value as it was when it was given, whatever becomes of it", async () => {
      const store = await make();
      const value = { list: [1], inner: { a: 1 } };
      await store.setIfAbsent("g/k", value);
      value.list.push(2);
      const given = (await store.get("g/k"))?.value ?? {};
      expect(given).toEqual({ list: [1], inner: { a: 1 } });
      (given["list"] as number[]).push(3);
      expect((await store.get("g/k"))?.value).toEqual({ list: [1], inner: { a: 1 } });
    });

    test("drops keys that reach a prototype", async () => {
      const store = await make();
      const hostile = JSON.parse(
        '{"a":{"__proto__":{"polluted":1},"b":2},"constructor":{"prototype":{"polluted":1}},"c":{"constructor":"fine"}}',
      ) as JsonObject;
      await store.setIfAbsent("g/k", hostile);
      const value = (await store.get("g/k"))?.value ?? {};
      expect(Object.keys(value)).toEqual(["a", "c"]);
      expect(Object.keys(value["a"] as object)).toEqual(["b"]);
      expect(value["c"]).toEqual({ constructor: "fine" });
      expect(({} as JsonObject)["polluted"]).toBeUndefined();
    });

    test("refuses what is not a JSON object, is too large or nested too deeply, or refers to itself", async () => {
      const store = await make();
      const circle: JsonObject = {};
      circle["self"] = circle;
      const large = { text: "x".repeat(16_000_000) };
      const wrong = [
        [],
        "text",
        null,
        new Date(),
        circle,
        nested(50_000),
        nested(201),
        large,
        { n: 1n },
      ] as unknown as JsonObject[];
      for (const value of wrong) {
        expect((await catchFailure(store.setIfAbsent("g/k", value))).code).toBe("STATE_VALUE_INVALID");
        expect((await catchFailure(store.replace("g/k", value))).code).toBe("STATE_VALUE_INVALID");
      }
      expect(await store.get("g/k")).toBeUndefined();
    });

    test("keeps values nested up to the limit, and strings of brackets", async () => {
      const store = await make();
      const value = { deep: nested(199), text: `"\\${"[{".repeat(500)}` };
      expect(await store.setIfAbsent("g/k", value)).toBe(true);
      expect((await store.get("g/k"))?.value).toEqual(value);
    });

    test("keeps any key and any JSON apart and whole", async () => {
      const key = fc.oneof(
        fc.string({ maxLength: 20 }),
        fc.constantFrom(
          "",
          "/",
          "a/",
          "../x",
          "a/../b",
          "\u0000",
          "con/1",
          "\ud800",
          "\ud801",
          "k".repeat(2_000),
        ),
      );
      const entries = fc.uniqueArray(fc.tuple(key, fc.dictionary(fc.string(), fc.jsonValue())), {
        selector: ([unique]) => unique,
        maxLength: 8,
      });
      await fc.assert(
        fc.asyncProperty(entries, async (pairs) => {
          const store = await make();
          for (const [each, value] of pairs) expect(await store.setIfAbsent(each, value)).toBe(true);
          for (const [each, value] of pairs) {
            expect((await store.get(each))?.value).toEqual(
              withoutPrototypes(JSON.parse(JSON.stringify(value))),
            );
          }
          expect((await store.list("")).map((entry) => entry.key).toSorted()).toEqual(
            pairs.map(([each]) => each).toSorted(),
          );
        }),
        { numRuns: 10 },
      );
    });

    test("does what a plain map does, step by step", async () => {
      const step = fc.record({
        act: fc.constantFrom("setIfAbsent", "replace", "replaceKnown", "replaceOld", "delete", "deleteOld"),
        key: fc.constantFrom("g/a", "g/b"),
        n: fc.nat(),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
          const store = await make();
          const model = new Map<string, JsonObject>();
          for (const { act, key: each, n } of steps) {
            const before = model.get(each);
            const version = (await store.get(each))?.version;
            let done: boolean;
            let expected: boolean;
            if (act === "setIfAbsent") {
              [done, expected] = [await store.setIfAbsent(each, { n }), !before];
            } else if (act === "replace") {
              [done, expected] = [await store.replace(each, { n }), true];
            } else if (act === "replaceKnown") {
              [done, expected] = [await store.replace(each, { n }, version ?? "none"), Boolean(before)];
            } else if (act === "replaceOld") {
              [done, expected] = [await store.replace(each, { n }, "0".repeat(32)), false];
            } else if (act === "delete") {
              [done, expected] = [await store.delete(each), Boolean(before)];
            } else {
              [done, expected] = [await store.delete(each, "0".repeat(32)), false];
            }
            expect(done).toBe(expected);
            if (done && act === "delete") model.delete(each);
            else if (done) model.set(each, { n });
            expect((await store.get(each))?.value).toEqual(model.get(each));
          }
        }),
        { numRuns: 15 },
      );
    });
  });
}

function withoutPrototypes(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) =>
    key === "__proto__" ? undefined : inner,
  );
}

/** An object with so many levels. */
function nested(levels: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 1; level < levels; level++) value = { value };
  return value;
}
