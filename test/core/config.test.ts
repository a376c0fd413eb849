import * as v from "valibot";
import { describe, expect, test } from "vitest";
import { configSchema } from "../../core/config.ts";
import { type Config, defineConfig } from "../../core/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { gateway } from "../../presets/gateway/mod.ts";

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
    ["an imported preset", { preset: gateway }],
    ["plugins and their paths", { plugins: [demo(), "./mine.ts"] }],
    ["options of any plugin", { options: { timeout: { ms: 5 }, mine: { deep: { a: [1] } } } }],
  ])("accepts %s, and keeps it as it is", (_name, config) => {
    const parsed = v.safeParse(configSchema, config);
    expect(parsed.success && parsed.output).toEqual(config);
  });

  test("keeps the very plugins and preset it is given", () => {
    const plugin = demo();
    const parsed = v.parse(configSchema, { preset: gateway, plugins: [plugin] });
    expect(parsed.preset).toBe(gateway);
    expect(parsed.plugins?.[0]).toBe(plugin);
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["a key it does not have", { server: {} }],
    ["a preset without a name", { preset: { plugins: [], tools: [] } }],
    ["a preset whose plugins are none", { preset: { name: "mine", plugins: [5], tools: [] } }],
    ["a plugin without setup", { plugins: [{ name: "mine" }] }],
    ["a plugin without a name", { plugins: [{ setup() {} }] }],
    ["a factory in place of a plugin", { plugins: [demo] }],
    ["options that are no objects", { options: { timeout: "soon" } }],
  ])("refuses %s", (_name, config) => {
    expect(v.safeParse(configSchema, config).success).toBe(false);
  });
});
