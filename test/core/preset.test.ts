import { describe, expect, expectTypeOf, test } from "vitest";
import {
  createGateway,
  definePlugin,
  definePreset,
  type MetaTool,
  type Plugin,
  textResult,
} from "../../core/mod.ts";
import { isPreset } from "../../core/preset.ts";
import { listed, plugin } from "../support/hooks.ts";

const ping: MetaTool = { name: "ping", inputSchema: { type: "object" }, run: () => textResult("pong") };
const wrongOnes: unknown[] = [
  { name: "", plugins: [] },
  { name: 5, plugins: [] },
  { plugins: [] },
  { name: "x" },
  { name: "x", plugins: {} },
  { name: "x", plugins: [{}] },
  { name: "x", plugins: [definePlugin({ name: "forgotten call", setup: () => {} })] },
  { name: "x", plugins: [], tools: {} },
];

describe("definePreset", () => {
  test("it keeps what it is given, and no tools are an empty list", () => {
    expect(definePreset({ name: "tiny", plugins: [listed] })).toEqual({
      name: "tiny",
      plugins: [listed],
      tools: [],
    });
  });

  test("it keeps the type of each plugin", () => {
    const one = definePlugin({ name: "one", setup: () => {} });
    const preset = definePreset({ name: "tiny", plugins: [one(), one()] });
    expectTypeOf(preset.plugins[0].name).toEqualTypeOf<"one">();
    expectTypeOf(preset.plugins).toExtend<readonly Plugin[]>();
    expect(isPreset(preset)).toBe(true);
  });

  test("it cannot be changed", () => {
    expect(Object.isFrozen(definePreset({ name: "tiny", plugins: [] }))).toBe(true);
  });

  test("refuses a value that is no preset, with its name", () => {
    for (const wrong of wrongOnes) {
      expect(() => definePreset(wrong as { name: string; plugins: [] })).toThrow(
        /^The preset ".*" must have a name and a list of plugins\.$/,
      );
      expect(isPreset({ tools: [], ...(wrong as object) })).toBe(false);
    }
    for (const wrong of [null, undefined, "anygpt", [], () => {}]) expect(isPreset(wrong)).toBe(false);
  });
});

describe("a gateway of a preset", () => {
  test("the agent sees the tools of the preset, and the catalog does not list them", async () => {
    const preset = definePreset({ name: "tiny", plugins: [listed], tools: [ping] });
    const gateway = await createGateway({ preset });
    expect(gateway.tools.map(({ id }) => id)).toEqual(["tiny:ping"]);
    expect(gateway.catalog.tools().map(({ id }) => id)).toEqual(["s:t"]);
    expect(gateway.catalog.servers().map(({ id }) => id)).toEqual(["s"]);
    expect((await gateway.run({ tool: "tiny:ping" })).result).toEqual(textResult("pong"));
  });

  test("without tools the agent sees those of the catalog", async () => {
    const gateway = await createGateway({ preset: definePreset({ name: "tiny", plugins: [listed] }) });
    expect(gateway.tools.map(({ id }) => id)).toEqual(["s:t"]);
  });

  test("its tools pass the same stages as any other", async () => {
    const log: string[] = [];
    const note = (stage: string) => (): void => void log.push(stage);
    const watch = plugin("watch", {
      resolve: note("resolve"),
      policy: note("policy"),
      validate: note("validate"),
      audit: note("audit"),
    });
    const preset = definePreset({ name: "tiny", plugins: [watch], tools: [ping] });
    await (await createGateway({ preset })).run({ tool: "tiny:ping" });
    expect(log).toEqual(["resolve", "policy", "validate", "audit"]);
  });

  test("further plugins come after those of the preset, and options reach both", async () => {
    const preset = definePreset({ name: "tiny", plugins: [plugin("first", {})], tools: [ping] });
    const gateway = await createGateway({ preset, plugins: [plugin("second", {})] });
    expect(gateway.plugins).toEqual(["first", "second", "meta-tools"]);
  });

  test("a server cannot take the name of the preset", async () => {
    const preset = definePreset({ name: "tiny", plugins: [], tools: [ping] });
    const gateway = await createGateway({ preset });
    await expect(gateway.catalog.replace({ id: "tiny" }, [])).rejects.toMatchObject({
      code: "CONFIG_INVALID",
    });
  });
});
