import { describe, expect, test } from "vitest";
import type { JsonObject, Preset } from "../../core/mod.ts";
import { demo } from "../../plugins/demo.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { gateway } from "../../presets/gateway/mod.ts";
import { getHostExposure } from "../../presets/shared/exposure.ts";
import { type Kind, kinds, openClient, readText } from "./_passthrough.ts";

interface Case {
  readonly kind?: Kind;
  readonly preset?: Preset;
  readonly name?: string;
  readonly exposure?: JsonObject;
}

/** The names of the tools that a client sees of the demo server. */
async function seen({ kind = "v1", preset = anygpt, name = "test", exposure = {} }: Case) {
  const options = { exposure, ...(preset === gateway && { guard: { enabled: false } }) };
  const client = await openClient(kind, { servers: {}, plugins: [demo()], preset, name, options });
  const { tools } = (await client.request("tools/list")) as { tools: { name: string }[] };
  return { client, names: tools.map((tool) => tool.name) };
}

test.each([
  ["anygpt", anygpt, "search_tools"],
  ["gateway", gateway, "gateway.intent"],
] as const)("every client of %s sees the five tools by default", async (_, preset, own) => {
  for (const name of ["test", "claude-code"]) {
    const { names } = await seen({ preset, name });
    expect(names).toHaveLength(5);
    expect(names).toContain(own);
  }
});

describe("what clients of anygpt see", () => {
  test("is the tools of the servers, or both, where that is said", async () => {
    const tools = await seen({ exposure: { expose: "tools" } });
    expect(tools.names).toEqual(expect.arrayContaining(["add", "word_count"]));
    expect(tools.names).not.toContain("search_tools");
    const both = await seen({ exposure: { expose: "both" } });
    expect(both.names).toEqual(expect.arrayContaining(["add", "word_count", "search_tools"]));
    const sum = await both.client.request("tools/call", { name: "add", arguments: { a: 2, b: 3 } });
    expect(readText(sum)).toBe("5");
  });

  test.each(kinds)(
    "depends on what they call themselves, where they decide, for a client %s",
    async (kind) => {
      const exposure = { expose: "auto" };
      const searching = await seen({ kind, name: "claude-code", exposure });
      expect(searching.names).toContain("add");
      expect(searching.names).not.toContain("search_tools");
      expect((await seen({ kind, name: "unknown", exposure })).names).toContain("search_tools");
      const told = { expose: "auto", hosts: { unknown: "both", "claude-code": "meta" } };
      expect((await seen({ kind, name: "unknown", exposure: told })).names).toContain("add");
      expect((await seen({ kind, name: "claude-code", exposure: told })).names).toHaveLength(5);
    },
  );

  test("does not limit what they can call", async () => {
    const { client } = await seen({ exposure: { expose: "meta" } });
    const sum = await client.request("tools/call", { name: "add", arguments: { a: 1, b: 1 } });
    expect(readText(sum)).toBe("2");
  });
});

describe("the lazy mode of gateway", () => {
  test.each(["tools", "both", "auto"])("exposes five tools where expose is %s", async (expose) => {
    const { names } = await seen({ preset: gateway, name: "claude-code", exposure: { expose } });
    expect(names).toHaveLength(5);
  });

  test.each(["add", "demo:add", "demo_add"])("refuses %s, which it does not list", async (name) => {
    const { client } = await seen({ preset: gateway });
    await expect(client.request("tools/call", { name, arguments: { a: 1, b: 1 } })).rejects.toThrow(name);
  });
});

test("a host is known by its name, also behind a bridge, and not by a name that objects have", () => {
  expect(getHostExposure("claude-code")).toBe("tools");
  expect(getHostExposure("claude-code (via mcp-remote 0.1.37)")).toBe("tools");
  expect(getHostExposure("codex-mcp-client")).toBe("meta");
  for (const name of [undefined, "", "constructor", "__proto__"]) expect(getHostExposure(name)).toBe("meta");
});
