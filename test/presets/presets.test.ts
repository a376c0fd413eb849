import { describe, expect, test } from "vitest";
import { createGateway, type PresetTable } from "../../core/mod.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { gateway } from "../../presets/gateway/mod.ts";
import { presets } from "../../presets/mod.ts";
import { passthrough } from "../../presets/passthrough.ts";
import { getError, readText } from "../support/failure.ts";
import { openPreset } from "./_open.ts";

test("the table holds every preset under its own name", async () => {
  const table: PresetTable = presets;
  expect(Object.keys(table)).toEqual(["anygpt", "gateway", "passthrough"]);
  for (const [name, load] of Object.entries(table)) expect((await load()).name).toBe(name);
  expect(await table["gateway"]?.()).toBe(gateway);
});

describe.each([
  ["anygpt", anygpt],
  ["gateway", gateway],
  ["passthrough", passthrough],
])("%s", (_name, preset) => {
  test("opens and closes with nothing added", async () => {
    const opened = await createGateway({ preset });
    expect(opened.catalog.tools()).toEqual([]);
    await opened.close();
  });

  test("audits by default, checks arguments and limits time", () => {
    const names = preset.plugins.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["audit", "validate", "timeout"]));
  });

  test("can be opened twice, independently", async () => {
    const [first, second] = [await openPreset(preset), await openPreset(preset)];
    await first.gateway.run({ tool: "demo:add", args: { a: 1, b: 2 } });
    await first.gateway.catalog.remove("demo");
    expect(first.records).toHaveLength(1);
    expect(second.records).toHaveLength(0);
    expect(second.gateway.catalog.tools("demo")).toHaveLength(3);
    await first.gateway.close();
    expect((await second.gateway.run({ tool: "demo:add", args: { a: 1, b: 2 } })).ok).toBe(true);
  });

  test("is read-only", () => {
    expect(Object.isFrozen(preset)).toBe(true);
  });
});

test("a preset without its search plugin names the missing plugin when it is needed", async () => {
  const opened = await createGateway({ preset: { ...anygpt, plugins: [] } });
  const call = await opened.run({ tool: "anygpt:search_tools", args: { query: "x" } });
  expect(getError(call)).toMatchObject({
    code: "PLUGIN_INVALID",
    message: expect.stringContaining(`"search"`),
  });
  expect((await opened.run({ tool: "anygpt:list_mcp_servers" })).ok).toBe(true);
  await opened.close();
});

describe("passthrough", () => {
  test("shows the tools of the catalog themselves, as they come and go", async () => {
    const { gateway: opened } = await openPreset(passthrough);
    const seen = () => opened.tools.map(({ id }) => id);
    expect(seen()).toEqual([
      "demo:add",
      "demo:word_count",
      "demo:countdown",
      "odd:broken",
      "odd:bare",
      "odd:faulty",
    ]);
    await opened.catalog.remove("demo");
    expect(seen()).toEqual(["odd:broken", "odd:bare", "odd:faulty"]);
  });

  test("records and checks their calls", async () => {
    const { gateway: opened, records } = await openPreset(passthrough);
    expect(readText(await opened.run({ tool: "demo:add", args: { a: 2, b: 3 } }))).toBe("5");
    expect(getError(await opened.run({ tool: "demo:add", args: { a: 2 } })).code).toBe("INVALID_ARGUMENTS");
    expect(records.map(({ outcome }) => outcome)).toEqual(["ok", "INVALID_ARGUMENTS"]);
  });
});
