import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { findIdentifierFault, toSkeleton } from "../../core/catalog.ts";
import { createGateway } from "../../core/mod.ts";

const tool = (name: string) => ({ name, inputSchema: { type: "object" } });

describe("fault 36: names that are not what they look like", () => {
  test.each([
    "zero\u200bwidth",
    "joined\u200d",
    "turned\u202eround",
    "isolated\u2066",
    "tagged\u{e0041}",
    "filled\u3164",
    "soft\u00adhyphen",
    "broken\ud800",
    "control\u0007",
    "line\nbreak",
    "private\ue000",
    "varied\ufe00",
    "..",
    "../up",
    "a/../b",
    "a\\..\\b",
    "./here",
  ])("%j is no name for a tool or a server", async (name) => {
    const gateway = await createGateway();
    const { tools, rejected } = await gateway.catalog.replace({ id: "s" }, [tool(name), tool("plain")]);
    expect(tools.map((each) => each.name)).toEqual(["plain"]);
    expect(rejected).toEqual([{ name, reason: expect.stringMatching(/^its name holds a/) }]);
    await expect(gateway.catalog.replace({ id: name }, [])).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    await gateway.close();
  });

  test.each([
    ["cyrillic", "paypal", "p\u0430ypal"],
    ["greek", "tool", "t\u03bfol"],
    ["full width", "pay", "\uff50\uff41\uff59"],
    ["another way to write an accent", "caf\u00e9", "cafe\u0301"],
    ["another hyphen", "a-b", "a\u2010b"],
    ["mathematical letters", "send", "\u{1d600}\u{1d5f2}\u{1d5fb}\u{1d5f1}"],
  ])("%s: the second of two that look alike is refused, whichever it is", async (_what, a, b) => {
    for (const [first, second] of [
      [a, b],
      [b, a],
    ] as const) {
      const gateway = await createGateway();
      const { tools, rejected } = await gateway.catalog.replace({ id: "s" }, [tool(first), tool(second)]);
      expect(tools.map(({ name }) => name)).toEqual([first]);
      expect(rejected).toEqual([{ name: second, reason: `it looks like "${first}", which comes first` }]);
      await gateway.catalog.replace({ id: first }, []);
      await expect(gateway.catalog.replace({ id: second }, [])).rejects.toMatchObject({
        code: "CONFIG_INVALID",
        message: `The server id "${second}" looks like "${first}", which is taken. Give the server another name.`,
      });
      // Again itself is no other, and what is gone blocks no other.
      await gateway.catalog.replace({ id: first }, []);
      await gateway.catalog.remove(first);
      await gateway.catalog.replace({ id: second }, []);
      expect(gateway.catalog.servers().map(({ id }) => id)).toContain(second);
      await gateway.close();
    }
  });

  test("honest names stay as they are, in every language", () => {
    for (const name of [
      "read_file",
      "io.github.user/name",
      "@scope/name",
      "a..b",
      "查询",
      "поиск",
      "αναζήτηση",
      "caf\u00e9",
      "a b",
      "❤️",
    ])
      expect(findIdentifierFault(name)).toBeUndefined();
  });

  test("no two names of plain letters look alike", () => {
    const plain = fc.string({ unit: "grapheme-ascii" });
    fc.assert(fc.property(plain, plain, (a, b) => (toSkeleton(a) === toSkeleton(b)) === (a === b)));
  });

  test("the skeleton of a name is its own skeleton", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (name) => toSkeleton(toSkeleton(name)) === toSkeleton(name)),
    );
  });
});
