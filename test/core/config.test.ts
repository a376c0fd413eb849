import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../core/config.ts";
import { type Config, defineConfig, definePlugin, type Preset } from "../../core/mod.ts";

const mine = definePlugin({ name: "mine", setup() {} });
const preset: Preset = { name: "own", plugins: [mine()], tools: [] };

test("defineConfig returns the config it is given, unchanged", () => {
  const config: Config = { preset: "gateway", options: { timeout: { ms: 5 } } };
  expect(defineConfig(config)).toBe(config);
  expect(config).toEqual({ preset: "gateway", options: { timeout: { ms: 5 } } });
});

describe("the schema of a config", () => {
  test.each<[string, Config]>([
    ["nothing at all", {}],
    ["a name", { preset: "anygpt" }],
    ["a path", { preset: "./mine.ts" }],
    ["an imported preset", { preset }],
    ["plugins and their paths", { plugins: [mine(), "./mine.ts"] }],
    ["options of any plugin", { options: { timeout: { ms: 5 }, mine: { deep: { a: [1] } } } }],
  ])("accepts %s, and keeps it as it is", (_name, config) => {
    const parsed = v.safeParse(configSchema, config);
    expect(parsed.success && parsed.output).toEqual(config);
  });

  test("keeps the very plugins and preset it is given", () => {
    const plugin = mine();
    const parsed = v.parse(configSchema, { preset, plugins: [plugin] });
    expect(parsed.preset).toBe(preset);
    expect(parsed.plugins?.[0]).toBe(plugin);
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["a key it does not have", { server: {} }],
    ["a preset without a name", { preset: { plugins: [], tools: [] } }],
    ["a preset whose plugins are none", { preset: { name: "mine", plugins: [5], tools: [] } }],
    ["a plugin without setup", { plugins: [{ name: "mine" }] }],
    ["a plugin without a name", { plugins: [{ setup() {} }] }],
    ["a factory in place of a plugin", { plugins: [mine] }],
    ["options that are no objects", { options: { timeout: "soon" } }],
  ])("refuses %s", (_name, config) => {
    expect(v.safeParse(configSchema, config).success).toBe(false);
  });
});
