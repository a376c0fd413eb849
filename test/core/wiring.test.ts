import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, expectTypeOf, test } from "vitest";
import {
  createGateway,
  definePlugin,
  type Gateway,
  GatewayError,
  type Plugin,
  type PluginGateway,
  textResult,
} from "../../core/mod.ts";
import { listed, plugin } from "../support/hooks.ts";

declare module "../../core/services/mod.ts" {
  interface Services {
    clockwork: { tick(): number };
    almanac: { today(): string };
  }
}

const clockwork = definePlugin({
  name: "clockwork",
  provides: ["clockwork"],
  setup: (gateway) => gateway.provide("clockwork", { tick: () => 1 }),
});

/** A plugin of set-up alone. */
function setup(
  name: string,
  declared: Pick<Plugin, "uses" | "provides">,
  act: (gateway: PluginGateway) => void = () => {},
): Plugin {
  return { name, ...declared, setup: act };
}

describe("a service", () => {
  test("is set up before those that use it, wherever its provider is listed", async () => {
    const seen: string[] = [];
    const user = definePlugin({
      name: "user",
      uses: ["clockwork", "almanac?"],
      setup({ services }) {
        expectTypeOf(services).toEqualTypeOf<PluginGateway<"clockwork" | "almanac?">["services"]>();
        expectTypeOf(services.almanac).toEqualTypeOf<{ today(): string } | undefined>();
        // @ts-expect-error: it is not in `uses`
        void (() => services.cache);
        seen.push(`tick ${services.clockwork.tick()}, almanac ${services.almanac}`);
        return { ready: () => void seen.push("ready user") };
      },
    });
    const last = plugin("last", { ready: () => void seen.push("ready last") });
    const gateway = await createGateway({ plugins: [user(), clockwork(), last] });
    expect(seen).toEqual(["tick 1, almanac undefined", "ready user", "ready last"]);
    expect(gateway.plugins).toEqual(["user", "clockwork", "last"]);
    expect(gateway.services.clockwork?.tick()).toBe(1);
  });

  test("has one provider: a second one is refused by the names of both", async () => {
    const other = setup("other", { provides: ["clockwork"] }, (gateway) =>
      gateway.provide("clockwork", { tick: () => 2 }),
    );
    await expect(createGateway({ plugins: [clockwork(), other] })).rejects.toMatchObject({
      code: "PLUGIN_INVALID",
      message:
        'The plugins "clockwork" and "other" both provide the service "clockwork". Leave one of them out.',
    });
  });

  test("can be replaced by a plugin that means it, and that may use what it replaces", async () => {
    const faster = setup("faster", { uses: ["clockwork"], provides: ["clockwork"] }, (gateway) => {
      const former = gateway.services.clockwork;
      gateway.provide("clockwork", { tick: () => 10 * (former?.tick() ?? 0) }, { replace: true });
    });
    const gateway = await createGateway({ plugins: [faster, clockwork()] });
    expect(gateway.services.clockwork?.tick()).toBe(10);
  });

  test("that is needed and missing is an error at start", async () => {
    const lonely = setup("lonely", { uses: ["clockwork"] });
    await expect(createGateway({ plugins: [lonely] })).rejects.toMatchObject({
      code: "PLUGIN_INVALID",
      message:
        'The plugin "lonely" needs the service "clockwork", which no plugin provides. Add a plugin that does to "plugins".',
    });
    const idle = setup("idle", { provides: ["clockwork"] });
    await expect(createGateway({ plugins: [lonely, idle] })).rejects.toThrow(
      'needs the service "clockwork", which the plugin "idle" does not provide with its options.',
    );
  });

  test("must be declared by those that provide it, and by those that use it", async () => {
    const sly = setup("sly", { uses: [] }, (gateway) => gateway.provide("clockwork", { tick: () => 3 }));
    await expect(createGateway({ plugins: [sly] })).rejects.toThrow(
      'The plugin "sly" provides the service "clockwork", which its "provides" lacks.',
    );
    const curious = setup("curious", { uses: [] }, (gateway) => void gateway.services.clockwork);
    await expect(createGateway({ plugins: [clockwork(), curious] })).rejects.toThrow(
      'The plugin "curious" uses the service "clockwork", which its "uses" lacks.',
    );
  });

  test("and plugins that use one another in a cycle are named", async () => {
    const [a, b] = [
      setup("a", { uses: ["almanac"], provides: ["clockwork"] }),
      setup("b", { uses: ["clockwork?"], provides: ["almanac"] }),
    ];
    await expect(createGateway({ plugins: [a, b] })).rejects.toThrow("in a cycle: a → b → a.");
  });
});

describe("drivers", () => {
  test("are found by kind and name, also those that are registered later", async () => {
    let known: ReadonlyMap<string, unknown> = new Map();
    const reader = setup("reader", {}, (gateway) => {
      known = gateway.drivers("gauge");
    });
    const writer = setup("writer", {}, (gateway) =>
      gateway.register("gauge", "up", { help: "Up." } as never),
    );
    const gateway = await createGateway({ plugins: [reader, writer] });
    expect([...known.keys()]).toEqual(["up"]);
    expect(gateway.drivers("gauge")).toBe(known);
    expect(await gateway.driver("gauge", "up")).toEqual({ help: "Up." });
    expect(gateway.drivers("route").size).toBe(0);
  });

  test("of one kind and name are refused by the names of their plugins", async () => {
    const twice = ["one", "two"].map((name) =>
      setup(name, { uses: [] }, (gateway) => gateway.register("ranker", "best", {} as never)),
    );
    await expect(createGateway({ plugins: twice })).rejects.toThrow(
      'The plugins "one" and "two" both register the ranker "best". Rename one of them.',
    );
  });

  test("are loaded from a module beside the config", async () => {
    const folder = await mkdtemp(join(tmpdir(), "toolpipe-driver-"));
    try {
      await writeFile(join(folder, "default.ts"), "export default { name: 'a' as string };");
      await writeFile(
        join(folder, "named.ts"),
        "export const ranker = { name: 'b' }; export const other = 1;",
      );
      await writeFile(join(folder, "only.ts"), "export const mine = { name: 'c' };");
      await writeFile(join(folder, "many.ts"), "export const one = 1; export const two = 2;");
      const gateway = await createGateway({ configFile: join(folder, "toolpipe.config.json") });
      const load = (name: string): Promise<unknown> => gateway.driver("ranker", name);
      expect(await load("./default.ts")).toEqual({ name: "a" });
      expect(await load("./named.ts")).toEqual({ name: "b" });
      expect(await load("./only.ts")).toEqual({ name: "c" });
      await expect(load("./many.ts")).rejects.toThrow(
        'ranker: expected "./many.ts" to export a ranker as its default, found one, two',
      );
      await expect(load("./none.ts")).rejects.toMatchObject({ code: "CONFIG_INVALID" });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("that do not exist are told with those that do", async () => {
    const writer = setup("writer", {}, ({ register }) => register("ranker", "keyword", {} as never));
    const gateway = await createGateway({ plugins: [writer] });
    await expect(gateway.driver("ranker", "keywrd")).rejects.toMatchObject({
      code: "CONFIG_INVALID",
      message:
        'There is no ranker "keywrd"; did you mean "keyword"? There are "keyword"; a path such as "./ranker.ts" names one of your own.',
    });
  });
});

test("a plugin sees the gateway that this one takes over from", async () => {
  const previous = await createGateway();
  let seen: Gateway | undefined;
  const plugins = [
    setup("heir", { uses: [] }, (gateway) => {
      seen = gateway.previous;
    }),
  ];
  await createGateway({ plugins, previous });
  expect(seen).toBe(previous);
});

test("a preset can make its tools once all plugins are set up", async () => {
  const { definePreset } = await import("../../core/mod.ts");
  const preset = definePreset({
    name: "own",
    plugins: [clockwork()],
    tools: ({ services }) => [
      { name: "tick", inputSchema: {}, run: () => textResult(String(services.clockwork?.tick())) },
    ],
  });
  const gateway = await createGateway({ preset });
  expect(gateway.tools.map(({ id }) => id)).toEqual(["own:tick"]);
  expect((await gateway.run({ tool: "own:tick" })).result).toEqual(textResult("1"));
});

describe("a plugin that answers before wrappers", () => {
  const reports: GatewayError[] = [];
  const watch = plugin("watch", { error: (error) => void reports.push(error) });
  const wrapper = plugin("wrapper", { execute: (_call, next) => next() });
  const answer = (via?: string): Plugin =>
    plugin("answer", {
      execute(call) {
        call.result = textResult("done");
        call.via = via;
      },
    });

  test("is warned about once, with what to do", async () => {
    const gateway = await createGateway({ plugins: [watch, listed, answer(), wrapper] });
    await gateway.run({ tool: "s:t" });
    await gateway.run({ tool: "s:t" });
    expect(reports.splice(0).map(({ message }) => message)).toEqual([
      'The "execute" hook of "wrapper" never runs for tools such as "s:t": "answer" answers first. List "wrapper" before "answer", or give "answer" the order "post".',
    ]);
  });

  test("is left alone where it stands behind them, or answers in place of the tool", async () => {
    for (const plugins of [
      [wrapper, answer()],
      [answer("cache"), wrapper],
    ]) {
      const gateway = await createGateway({ plugins: [watch, listed, ...plugins] });
      await gateway.run({ tool: "s:t" });
    }
    expect(reports).toEqual([]);
  });
});

test("an error with an undeclared code is reported as such, and does not crash", () => {
  for (const code of ["TYPO", "constructor", undefined]) {
    const error = new GatewayError(code as never, "It failed.");
    expect(error.code).toBe("INTERNAL");
    expect(error.message).toMatch(/^It failed\. \(Its error code .* is not declared/);
  }
});
