import { describe, expect, test } from "vitest";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { getError, parseJson, readText } from "../../support/failure.ts";
import { openPreset } from "../_open.ts";

async function ask(tool: string, args: object = {}): Promise<unknown> {
  const { gateway } = await openPreset(anygpt);
  return parseJson(await gateway.run({ tool: `anygpt:${tool}`, args }));
}

async function refusal(tool: string, args: unknown) {
  const { gateway } = await openPreset(anygpt);
  return getError(await gateway.run({ tool: `anygpt:${tool}`, args }));
}

test("an agent sees exactly the five tools of the specification", async () => {
  const { gateway } = await openPreset(anygpt);
  expect(gateway.tools.map(({ name }) => name)).toEqual([
    "list_mcp_servers",
    "search_tools",
    "list_tools",
    "get_tool_details",
    "execute_tool",
  ]);
  for (const { description, inputSchema } of gateway.tools) {
    expect(description).toMatch(/^[A-Z].+/);
    expect(inputSchema["type"]).toBe("object");
  }
});

test("each says truly whether it changes anything", async () => {
  const { gateway } = await openPreset(anygpt);
  const hints = gateway.tools.map(({ name, annotations }) => [name, annotations]);
  const readOnly = { readOnlyHint: true, openWorldHint: false };
  expect(Object.fromEntries(hints)).toEqual({
    list_mcp_servers: readOnly,
    search_tools: readOnly,
    list_tools: readOnly,
    get_tool_details: readOnly,
    execute_tool: { destructiveHint: true, openWorldHint: true },
  });
});

test("they are not tools of the catalog, so no search or list shows them", async () => {
  const { gateway } = await openPreset(anygpt);
  expect(gateway.catalog.servers().map(({ id }) => id)).not.toContain("anygpt");
  expect(await ask("search_tools", { query: "execute_tool" })).toMatchObject({ results: [] });
});

test("list_mcp_servers lists every server with its number of tools and its status", async () => {
  expect(await ask("list_mcp_servers")).toEqual({
    servers: [
      {
        name: "demo",
        description: "Three small tools to try the gateway with",
        toolCount: 3,
        enabledCount: 3,
        status: "connected",
      },
      { name: "odd", description: "Odd tools", toolCount: 3, enabledCount: 3, status: "connected" },
    ],
  });
});

describe("search_tools", () => {
  test("answers with server, tool, first sentence, relevance and tags, the best first", async () => {
    const { results } = (await ask("search_tools", { query: "count words" })) as {
      results: { relevance: number }[];
    };
    expect(results[0]).toEqual({
      server: "demo",
      tool: "word_count",
      summary: "Counts the words of a text.",
      relevance: expect.closeTo(0.8, 0),
      tags: [],
    });
    expect(results.length).toBeGreaterThan(1);
    const relevances = results.map(({ relevance }) => relevance);
    expect(relevances).toEqual(relevances.toSorted((a, b) => b - a));
  });

  test("shows relevance with two digits", async () => {
    const { results } = (await ask("search_tools", { query: "zzz small steps reports" })) as {
      results: { relevance: number }[];
    };
    for (const { relevance } of results) expect(Number(relevance.toFixed(2))).toBe(relevance);
    expect(results.length).toBeGreaterThan(0);
  });

  test("keeps to a server and to a limit", async () => {
    expect(await ask("search_tools", { query: "count", server: "odd" })).toMatchObject({ results: [] });
    const { results } = (await ask("search_tools", { query: "count", limit: 2 })) as { results: object[] };
    expect(results).toHaveLength(2);
  });

  test("names the server that was meant where there is none of that name", async () => {
    const error = await refusal("search_tools", { query: "x", server: "dmo" });
    expect(error).toMatchObject({
      code: "TOOL_NOT_FOUND",
      message: 'There is no server "dmo"; did you mean "demo"? The servers are demo, odd.',
    });
  });

  test("finds nothing for an empty query, and for a capability that no server has", async () => {
    expect(await ask("search_tools", { query: "" })).toEqual({ results: [] });
    expect(await ask("search_tools", { query: "xyzzy" })).toEqual({ results: [] });
  });

  test("takes a limit of 0 as the default", async () => {
    const query = "count add words";
    expect(await ask("search_tools", { query, limit: 0 })).toEqual(await ask("search_tools", { query }));
  });

  test.each([
    [{}],
    [{ query: 5 }],
    [{ query: "x", limit: -1 }],
    [{ query: "x", limit: 1.5 }],
    [{ query: "x", server: 5 }],
  ])("refuses %j", async (args) => {
    expect((await refusal("search_tools", args)).code).toBe("INVALID_ARGUMENTS");
  });
});

describe("list_tools", () => {
  test("lists the tools of one server with their first sentence", async () => {
    expect(await ask("list_tools", { server: "odd" })).toMatchObject({
      server: "odd",
      tools: [
        { name: "broken", summary: "Fails.", enabled: true, tags: [] },
        { name: "bare", summary: "", enabled: true, tags: [] },
        { name: "faulty", summary: "Has a schema that makes no sense!", enabled: true, tags: [] },
      ],
    });
  });

  test.each(["nowhere", "anygpt", "", "__proto__"])("knows no server %j", async (server) => {
    const error = await refusal("list_tools", { server });
    expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", kind: { exit: 2 } });
    expect(error.message).toContain(`"${server}"`);
  });
});

describe("get_tool_details", () => {
  test("describes the tool and each of its parameters", async () => {
    expect(await ask("get_tool_details", { server: "demo", tool: "countdown" })).toMatchObject({
      server: "demo",
      tool: "countdown",
      description: "Counts down to zero, one step every 20 ms, and reports its progress.",
      parameters: [{ name: "from", type: "integer", description: "", required: true }],
    });
  });

  test("makes the best of a tool with hardly a schema, or with one that makes no sense", async () => {
    expect(await ask("get_tool_details", { server: "odd", tool: "bare" })).toMatchObject({
      description: "",
      parameters: [],
    });
    expect(await ask("get_tool_details", { server: "odd", tool: "faulty" })).toMatchObject({
      parameters: [
        { name: "a", type: "unknown", required: false },
        { name: "b", type: "unknown", required: false },
        { name: "c", type: "string | null", description: "", required: false },
        { name: "d", type: "unknown", required: false },
      ],
    });
  });

  test.each([
    ["demo", "subtract"],
    ["nowhere", "add"],
  ])("knows no tool %s:%s", async (server, tool) => {
    const error = await refusal("get_tool_details", { server, tool });
    expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", kind: { exit: 2 } });
    expect(error.message).toContain(`"${server}:${tool}"`);
  });
});

describe("execute_tool", () => {
  const add = { server: "demo", tool: "add", arguments: { a: 2, b: 3 } };

  test("answers what the tool answers", async () => {
    const { gateway } = await openPreset(anygpt);
    const call = await gateway.run({ tool: "anygpt:execute_tool", args: add });
    expect(readText(call)).toBe("5");
    expect(call.ok && call.result.isError).toBeFalsy();
  });

  test("hands on a failure of the tool itself as it is", async () => {
    const { gateway } = await openPreset(anygpt);
    const args = { server: "odd", tool: "broken", arguments: {} };
    const call = await gateway.run({ tool: "anygpt:execute_tool", args });
    expect(call).toMatchObject({
      ok: true,
      result: { isError: true, content: [{ type: "text", text: "no" }] },
    });
  });

  test("leaves a record of its own and one of the call it makes, which names it", async () => {
    const { gateway, records } = await openPreset(anygpt);
    const actor = { id: "ada", scopes: [] };
    const call = await gateway.run({ tool: "anygpt:execute_tool", args: add, actor });
    expect(records).toHaveLength(2);
    expect(records[0]).toMatchObject({
      tool_id: "demo:add",
      parent_id: call.id,
      actor_id: "ada",
      outcome: "ok",
    });
    expect(records[1]).toMatchObject({ tool_id: "anygpt:execute_tool", request_id: call.id, outcome: "ok" });
    expect(records[1]).not.toHaveProperty("parent_id");
    expect(records[0]?.request_id).not.toBe(call.id);
  });

  test.each([
    ["an unknown tool", { ...add, tool: "subtract" }, "TOOL_NOT_FOUND", "resolve"],
    ["an unknown server", { ...add, server: "nowhere" }, "TOOL_NOT_FOUND", "resolve"],
    [
      "wrong arguments of the tool",
      { ...add, arguments: { a: 2, b: "three" } },
      "INVALID_ARGUMENTS",
      "validate",
    ],
  ])("fails with the error of the inner call in both records: %s", async (_what, args, code, stage) => {
    const { gateway, records } = await openPreset(anygpt);
    const call = await gateway.run({ tool: "anygpt:execute_tool", args });
    const error = getError(call);
    expect(error.code).toBe(code);
    expect(error.message).toContain(`"${args.server}:${args.tool}"`);
    expect(records.map(({ outcome }) => outcome)).toEqual([code, code]);
    expect(records[0]).toMatchObject({ stage, parent_id: call.id });
    expect(records[1]).toMatchObject({ stage: "execute" });
  });

  test.each([
    [{ server: "demo", tool: "add" }],
    [{ ...add, arguments: "[]" }],
    [{ ...add, arguments: "a: 1" }],
    [{ ...add, server: 5 }],
  ])("refuses %j before any inner call", async (args) => {
    const { gateway, records } = await openPreset(anygpt);
    const error = getError(await gateway.run({ tool: "anygpt:execute_tool", args }));
    expect(error.code).toBe("INVALID_ARGUMENTS");
    expect(error.message).toContain("anygpt:execute_tool");
    expect(records).toHaveLength(1);
  });

  test("reports the progress of the tool, and cancels it", async () => {
    const { gateway, records } = await openPreset(anygpt);
    const controller = new AbortController();
    const steps: number[] = [];
    const call = await gateway.run({
      tool: "anygpt:execute_tool",
      args: { server: "demo", tool: "countdown", arguments: { from: 100 } },
      signal: controller.signal,
      onProgress({ progress }) {
        steps.push(progress);
        if (progress === 2) controller.abort();
      },
    });
    expect(getError(call).code).toBe("CANCELLED");
    expect(steps).toEqual([1, 2]);
    await gateway.close();
    expect(records.map(({ outcome }) => outcome)).toEqual(["CANCELLED", "CANCELLED"]);
  });
});

test("every call of a meta-tool is recorded, searches too", async () => {
  const { gateway, records } = await openPreset(anygpt);
  await gateway.run({ tool: "anygpt:search_tools", args: { query: "secret words" } });
  expect(records).toMatchObject([{ tool_id: "anygpt:search_tools", outcome: "ok", stage: "execute" }]);
  expect(JSON.stringify(records)).not.toContain("secret");
});

test("answers are compact JSON", async () => {
  const { gateway } = await openPreset(anygpt);
  const text = readText(await gateway.run({ tool: "anygpt:list_mcp_servers" }));
  expect(text).toBe(JSON.stringify(JSON.parse(text)));
});
