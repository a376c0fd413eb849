import fc from "fast-check";
import * as v from "valibot";
import { describe, expect, test, vi } from "vitest";
import { claimKeys, configureAll, sortForHooks, sortForSetup } from "../../core/assemble.ts";
import { createGateway, definePlugin, type Plugin, type PluginOrder } from "../../core/mod.ts";
import { plugin } from "../support/hooks.ts";

const names = (plugins: readonly Plugin[]): string[] => plugins.map(({ name }) => name);
/** A plugin that provides a service of its own name, and uses those of others. */
const using = (name: string, ...uses: string[]): Plugin => plugin(name, {}, { uses, provides: [name] });

/** Plugins `p0`, `p1` … where each may use any of the others, in any order. */
const graph = fc
  .integer({ min: 1, max: 7 })
  .chain((size) =>
    fc.record({
      uses: fc.array(fc.uniqueArray(fc.nat(size - 1), { maxLength: 2 }), {
        minLength: size,
        maxLength: size,
      }),
      order: fc.shuffledSubarray([...new Array(size).keys()], { minLength: size }),
    }),
  )
  .map(({ uses, order }) =>
    order.map((index) => {
      const others = (uses[index] ?? []).filter((used) => used !== index);
      return using(`p${index}`, ...others.map((used) => `p${used}`));
    }),
  );

function hasCycle(plugins: readonly Plugin[]): boolean {
  const left = new Map(plugins.map(({ name, uses }) => [name, new Set(uses)]));
  for (;;) {
    const free = [...left].find(([, uses]) => [...uses].every((name) => !left.has(name)));
    if (!free) return left.size > 0;
    left.delete(free[0]);
  }
}

describe("the order of hooks", () => {
  test("it is that of the list, within pre, normal and post", async () => {
    const orders = fc.array(fc.constantFrom<PluginOrder | undefined>(undefined, "pre", "post"), {
      maxLength: 8,
    });
    await fc.assert(
      fc.asyncProperty(orders, async (given) => {
        const log: string[] = [];
        const plugins = given.map((order, index) =>
          plugin(
            `${order ?? "normal"} ${index}`,
            { ready: () => void log.push(`${order ?? "normal"} ${index}`) },
            { order },
          ),
        );
        const expected = ["pre", "normal", "post"].flatMap((rank) =>
          names(plugins).filter((name) => name.startsWith(rank)),
        );
        expect(names(sortForHooks(plugins))).toEqual(expected);
        const gateway = await createGateway({ plugins });
        expect(gateway.plugins).toEqual(expected);
        expect(log).toEqual(expected);
      }),
    );
  });

  test("services do not change it", async () => {
    const gateway = await createGateway({ plugins: [using("a", "b?"), using("b")] });
    expect(gateway.plugins).toEqual(["a", "b"]);
  });

  test("an order that does not exist is refused by name", () => {
    const wrong = plugin("odd", {}, { order: "first" as PluginOrder });
    expect(() => sortForHooks([wrong])).toThrow(/The plugin "odd" has the order "first"/);
  });

  test("the given list is left as it is", () => {
    const list = [plugin("a", {}, { order: "post" }), plugin("b", {})];
    sortForHooks(list);
    sortForSetup(list);
    expect(names(list)).toEqual(["a", "b"]);
  });
});

describe("the order of set-up", () => {
  test("sets up used services first, otherwise keeps the order of the list, and names a cycle", () => {
    fc.assert(
      fc.property(graph, (plugins) => {
        if (hasCycle(plugins)) {
          let message = "";
          try {
            sortForSetup(plugins);
          } catch (error) {
            expect(error).toMatchObject({ code: "PLUGIN_INVALID" });
            message = (error as Error).message;
          }
          const cycle = /: (.+)\.$/.exec(message)?.[1]?.split(" → ") ?? [];
          expect(cycle.length).toBeGreaterThan(1);
          expect(cycle.at(-1)).toBe(cycle[0]);
          for (const [index, name] of cycle.slice(0, -1).entries()) {
            expect(plugins.find((candidate) => candidate.name === name)?.uses).toContain(cycle[index + 1]);
          }
          return;
        }
        const ordered = names(sortForSetup(plugins));
        expect(ordered.toSorted()).toEqual(names(plugins).toSorted());
        for (const { name, uses = [] } of plugins) {
          for (const used of uses) expect(ordered.indexOf(used)).toBeLessThan(ordered.indexOf(name));
        }
        if (plugins.every(({ uses }) => uses?.length === 0)) expect(ordered).toEqual(names(plugins));
      }),
      { numRuns: 300 },
    );
  });

  test("a cycle is named from where it begins, not from where it was entered", () => {
    const plugins = [using("x", "a"), using("a", "b"), using("b", "c"), using("c", "a")];
    expect(() => sortForSetup(plugins)).toThrow("in a cycle: a → b → c → a.");
  });

  test("a service that is needed and missing is named with its plugin, and nothing is set up", async () => {
    const setup = vi.fn();
    const plugins = [{ name: "first", setup }, using("listings", "state")];
    await expect(createGateway({ plugins })).rejects.toMatchObject({
      code: "PLUGIN_INVALID",
      message:
        'The plugin "listings" needs the service "state", which no plugin provides. Add the plugin "state" to "plugins".',
    });
    expect(setup).not.toHaveBeenCalled();
  });

  test("a plugin that is listed twice is named, and nothing is set up", async () => {
    const setup = vi.fn();
    const plugins = [{ name: "first", setup }, plugin("cache", {}), plugin("cache", {})];
    await expect(createGateway({ plugins })).rejects.toMatchObject({
      code: "PLUGIN_INVALID",
      message: expect.stringContaining('The plugin "cache" is listed twice.'),
    });
    expect(setup).not.toHaveBeenCalled();
  });
});

describe("configureAll", () => {
  const limit = definePlugin({
    name: "limit",
    options: v.strictObject({ ms: v.optional(v.number(), 1), name: v.optional(v.string(), "x") }),
    setup: () => {},
  });

  test("it replaces options of the plugins it names and leaves the others alone", async () => {
    const seen: unknown[] = [];
    const factory = definePlugin({
      name: "limit",
      options: v.strictObject({ ms: v.optional(v.number(), 1), name: v.optional(v.string(), "x") }),
      setup: (_gateway, options) => void seen.push(options),
    });
    const other = plugin("other", {});
    const given = [factory({ name: "y" }), other];
    const plugins = configureAll(given, { limit: { ms: 5 } });
    expect(plugins[1]).toBe(other);
    await createGateway({ plugins });
    await createGateway({ plugins: given });
    expect(seen).toEqual([
      { ms: 5, name: "y" },
      { ms: 1, name: "y" },
    ]);
  });

  test("options of a plugin that is not there get a hint", () => {
    expect(() => configureAll([limit()], { limti: { ms: 5 } })).toThrow(
      'options.limti: there is no plugin of this name; did you mean "limit"?',
    );
    expect(() => configureAll([limit()], { elephant: {} })).toThrow(
      "options.elephant: there is no plugin of this name.",
    );
  });

  test("options of a plugin that takes none are refused", () => {
    expect(() => configureAll([plugin("bare", {})], { bare: {} })).toThrow(
      "options.bare: this plugin takes no options.",
    );
  });

  test("a wrong option names the plugin and the option", async () => {
    await expect(
      createGateway({ plugins: [limit()], options: { limit: { ms: "soon" } } }),
    ).rejects.toMatchObject({
      code: "PLUGIN_INVALID",
      message: 'The plugin "limit" has a wrong option: ms: expected number, found a string.',
    });
  });

  test("names that every object has are not taken for options", () => {
    const odd = definePlugin({ name: "constructor", setup: () => {} });
    expect(names(configureAll([odd(), plugin("toString", {})], {}))).toEqual(["constructor", "toString"]);
    expect(() => configureAll([plugin("toString", {})], JSON.parse('{"__proto__":{}}'))).toThrow(
      "options.__proto__: there is no plugin of this name.",
    );
  });
});

describe("claimKeys", () => {
  const claims = (name: string, ...keys: string[]): Plugin => ({ ...plugin(name, {}), keys });

  test("a key becomes an option of the plugin that claims it, and one of its name all of its options", () => {
    const plugins = [claims("rules", "toolRules"), claims("cache", "cache")];
    expect(claimKeys(plugins, { toolRules: [1], cache: { ms: 1 } }, { other: { a: 1 } })).toEqual({
      rules: { toolRules: [1] },
      cache: { ms: 1 },
      other: { a: 1 },
    });
  });

  test("`options` have precedence, and neither is changed", () => {
    const extra = { cache: { ms: 1, size: 1 } };
    const options = { cache: { ms: 2 } };
    expect(claimKeys([claims("cache", "cache")], extra, options)).toEqual({ cache: { ms: 2, size: 1 } });
    expect([extra, options]).toEqual([{ cache: { ms: 1, size: 1 } }, { cache: { ms: 2 } }]);
  });

  test("a key that no plugin claims gets a hint, also of what a config always has", () => {
    const plugins = [claims("rules", "toolRules"), plugin("bare", {})];
    expect(() => claimKeys(plugins, { toolRule: [] }, {})).toThrow(
      'toolRule: there is no such option; did you mean "toolRules"?',
    );
    expect(() => claimKeys(plugins, { plugin: [] }, {})).toThrow('did you mean "plugins"?');
    expect(() => claimKeys(plugins, { elephant: 1 }, {})).toThrow("elephant: there is no such option");
    expect(() => claimKeys(plugins, JSON.parse('{"__proto__":{"x":1}}'), {})).toThrow(
      "there is no such option",
    );
  });

  test("a string is the option of the plugin's own name, where the plugin has one", () => {
    const plugin = { ...claims("state", "state"), takesString: true };
    expect(claimKeys([plugin], { state: "redis://host" }, {})).toEqual({ state: { state: "redis://host" } });
  });

  test("options of a plugin must be an object, and a string instead is not printed", () => {
    expect(() => claimKeys([claims("cache", "cache")], { cache: "secret" }, {})).toThrow(
      "cache: expected an object of options, found a string",
    );
  });

  test("null instead is named", () => {
    expect(() => claimKeys([claims("cache", "cache")], { cache: null }, {})).toThrow("found null");
  });

  test("a list under the plugin's name is the option of that name", () => {
    expect(claimKeys([claims("sources", "sources")], { sources: [1] }, {})).toEqual({
      sources: { sources: [1] },
    });
  });

  test("a key that two plugins claim is refused", () => {
    const plugins = [claims("one", "rules"), claims("two", "rules")];
    expect(() => claimKeys(plugins, { rules: [] }, {})).toThrow(/"one".*"two"/);
  });
});
