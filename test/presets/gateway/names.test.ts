import fc from "fast-check";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { describeGatewayTools } from "../../../presets/gateway/describe.ts";
import { gateway as preset } from "../../../presets/gateway/mod.ts";
import { createUniqueNames, getOperationIds, ID_PATTERN } from "../../../presets/gateway/operations.ts";
import { getSettings } from "../../../presets/gateway/options.ts";
import { catchFailure } from "../../support/failure.ts";
import { openPay, paySetting } from "../_gateway-api.ts";

afterEach(() => void vi.unstubAllEnvs());

const pattern = new RegExp(ID_PATTERN);
const word = fc.oneof(
  fc.constantFrom(
    "create_issue",
    "createIssue",
    "create-issue",
    "Create Issue",
    "create.issue",
    "発行",
    "",
    "-",
  ),
  fc.string({ unit: "binary", maxLength: 20 }),
);

describe("the ids of operations", () => {
  test("fit the pattern, are never shared, and lead back", async () => {
    const { gateway } = await openPay();
    const tools = ["create_issue", "createIssue", "create-issue", "発行", "a:b"];
    const definitions = tools.map((name) => ({ name, inputSchema: { type: "object" } }));
    await gateway.catalog.replace({ id: "My Server" }, definitions);
    await gateway.catalog.replace({ id: "my-server" }, definitions);
    const ids = getOperationIds(gateway);
    const all = gateway.catalog.tools();
    expect(new Set(all.map(ids.getId)).size).toBe(all.length);
    for (const tool of all) {
      expect(ids.getId(tool)).toMatch(pattern);
      expect(ids.tools.get(ids.getId(tool))).toBe(tool);
      expect(ids.getServer(ids.getAdapterId(tool.server))).toBe(tool.server);
    }
    expect(ids.tools.get("my-server:create-issue")?.id).toBe("my-server:create-issue");
    expect(ids.tools.get("demo:word-count")?.id).toBe("demo:word_count");
  });

  test("are unique and of the pattern, whatever the names are, in whatever order they come", () => {
    fc.assert(
      fc.property(fc.uniqueArray(word, { minLength: 1, maxLength: 12 }), (names) => {
        const made = createUniqueNames(names);
        expect(new Set(made).size).toBe(names.length);
        for (const name of made) expect(name).toMatch(/^[a-z0-9-]+$/);
        const back = createUniqueNames(names.toReversed()).toReversed();
        expect(back).toEqual(made);
      }),
    );
  });

  test("are the names themselves where those fit", () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[a-z0-9-]+$/)), (names) => {
        expect(createUniqueNames(names)).toEqual(names);
      }),
    );
  });

  test("are understood as the server writes them, too", async () => {
    const { ask } = await openPay();
    for (const tool_id of ["demo:word-count", "demo:word_count"]) {
      expect(await ask("execute", { tool_id, params: { text: "a b" } })).toMatchObject({
        success: true,
        tool_id: "demo:word-count",
        data: "2",
      });
    }
  });
});

describe("full mode", () => {
  test("shows every operation that can be called, and nothing else", async () => {
    const { gateway } = await openPay({
      discovery: { mode: "full" },
      rules: { toolRules: [{ pattern: ["*bare*"], enabled: false }] },
    });
    const names = describeGatewayTools(gateway).map(({ name }) => name);
    expect(names).toHaveLength(gateway.catalog.tools().length - 1);
    expect(names).toContain("charge-authorization");
    expect(names).toContain("word_count");
    expect(names.filter((name) => name.startsWith("gateway"))).toEqual([]);
  });
});

describe("the environment", () => {
  test("goes before the config", async () => {
    vi.stubEnv("MCP_TOOL_MODE", "full");
    vi.stubEnv("MCP_SEARCH_MIN_CONFIDENCE", "0.9");
    vi.stubEnv("MCP_DEFAULT_LIMIT", "7");
    const { gateway } = await openPay({ discovery: { mode: "lazy", minConfidence: 0.1, defaultLimit: 2 } });
    expect(getSettings(gateway)).toMatchObject({
      mode: "full",
      minConfidence: 0.9,
      defaultLimit: 7,
    });
  });

  test("that says nothing leaves it to the config", async () => {
    vi.stubEnv("MCP_TOOL_MODE", "");
    const { gateway } = await openPay({ discovery: { minConfidence: 0.1 } });
    expect(getSettings(gateway)).toMatchObject({ mode: "lazy", minConfidence: 0.1 });
  });

  test.each([
    ["MCP_TOOL_MODE", "lazyy"],
    ["MCP_SEARCH_MIN_CONFIDENCE", "high"],
    ["MCP_SEARCH_MIN_CONFIDENCE", "2"],
    ["MCP_DEFAULT_LIMIT", "0"],
    ["MCP_DEFAULT_LIMIT", "2.5"],
  ])("is refused where %s is %s", async (name, value) => {
    vi.stubEnv(name, value);
    const error = await catchFailure(createGateway({ preset }));
    expect(error.code).toBe("CONFIG_INVALID");
    expect(error.message).toContain(name);
  });
});

describe("the names of the five tools", () => {
  test.each([
    ["dot", "gateway.intent"],
    ["hyphen", "gateway-intent"],
    ["underscore", "gateway_intent"],
  ] as const)("can be written with a %s, in every sentence too", async (toolNames, name) => {
    const { gateway, ask } = await openPay({ discovery: { toolNames } });
    const described = describeGatewayTools(gateway);
    expect(described[0]?.name).toBe(name);
    const execute = name.replace("intent", "execute");
    expect(described[1]).toMatchObject({ name: execute, description: expect.stringContaining(name) });
    expect(await ask("intent", { query: "pay:list-banks" })).toMatchObject({
      next_step: `Call ${execute} with tool_id and params`,
    });
  });

  test("another way to write them is refused", async () => {
    const { config } = await paySetting({ discovery: { toolNames: "slash" } });
    expect((await catchFailure(createGateway(config))).message).toContain("toolNames");
  });
});
