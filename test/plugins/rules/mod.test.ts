import { describe, expect, test } from "vitest";
import {
  createGateway,
  definePreset,
  type Gateway,
  GatewayError,
  localTools,
  type Plugin,
  textResult,
} from "../../../core/mod.ts";
import { type RulesOptions, rules } from "../../../plugins/rules/mod.ts";
import { catchFailure, getError } from "../../support/failure.ts";
import { plugin } from "../../support/hooks.ts";

/** A server whose tools answer with their name. */
function server(id: string, ...names: string[]): Plugin {
  const tools = names.map((name) => ({ name, inputSchema: { type: "object" }, run: () => textResult(name) }));
  return localTools(id, { id }, tools);
}

/** A gateway with a server `files`, one `github`, and these rules. */
function openRules(options: RulesOptions, ...others: Plugin[]): Promise<Gateway> {
  return createGateway({
    plugins: [rules(options), ...others, server("files", "read", "delete"), server("github", "create_issue")],
  });
}

/** The ids of the tools that are enabled. */
function listEnabled(gateway: Gateway): string[] {
  return gateway.catalog.tools().flatMap((tool) => (tool.enabled ? [tool.id] : []));
}

/** The reports of one fault. */
async function findFaults(gateway: Gateway, fault: string): Promise<Record<string, unknown>[]> {
  const reports = (await gateway.services.rules?.diagnose()) ?? [];
  return reports.flatMap(({ fault: own, ...rest }) => (own === fault ? [rest] : []));
}

describe("the plugin", () => {
  test("marks tools in the catalog and gives the reason", async () => {
    const gateway = await openRules({
      toolRules: [{ pattern: ["*delete*"], enabled: false, tags: ["dangerous"] }],
    });
    expect(listEnabled(gateway)).toEqual(["files:read", "github:create_issue"]);
    expect(gateway.catalog.tool("files:delete")).toMatchObject({
      tags: ["dangerous"],
      enabled: false,
      disabledBecause: "Rule 1 (*delete*) disables it.",
    });
    expect(gateway.catalog.tool("files:read")).not.toHaveProperty("disabledBecause");
  });

  test("denies the call of a disabled tool with the reason, and lets others through", async () => {
    const gateway = await openRules({ toolRules: [{ server: "files", pattern: ["read"], enabled: true }] });
    const error = getError(await gateway.run({ tool: "github:create_issue" }));
    expect(error).toMatchObject({ code: "TOOL_DISABLED", data: { tool: "github:create_issue" } });
    expect(error.kind).toMatchObject({ spec: "TOOL_DISABLED", exit: 4, retry: false });
    expect(error.message).toMatch(/^"github:create_issue" is disabled\. No rule enables it/);
    expect(await gateway.run({ tool: "files:read" })).toMatchObject({ ok: true });
  });

  test("adds its tags to those of others, each once", async () => {
    const tagger = plugin(
      "tagger",
      { "tool:discover": (tool) => void tool.tags.push("io", "mine") },
      { order: "pre" },
    );
    const gateway = await openRules({ toolRules: [{ pattern: ["read"], tags: ["io", "safe"] }] }, tagger);
    expect(gateway.catalog.tool("files:read")?.tags).toEqual(["io", "mine", "safe"]);
  });

  test("never enables what another plugin has disabled, and keeps its reason", async () => {
    const strict = plugin(
      "strict",
      {
        "tool:discover"(tool) {
          tool.enabled = false;
          tool.disabledBecause = "It is not approved.";
        },
      },
      { order: "pre" },
    );
    const gateway = await openRules({ toolRules: [{ pattern: ["read"], enabled: true }] }, strict);
    for (const name of ["read", "delete"]) {
      expect(gateway.catalog.tool(`files:${name}`)).toMatchObject({
        enabled: false,
        disabledBecause: "It is not approved.",
      });
    }
    expect(getError(await gateway.run({ tool: "files:read" })).message).toBe(
      '"files:read" is disabled. It is not approved.',
    );
  });

  test("judges a tool that a plugin binds to a call by itself", async () => {
    const alias = plugin("alias", {
      resolve(call) {
        const own = { id: "files:delete", server: "files", builtin: false, tags: [], enabled: true };
        call.tool = { name: "delete", inputSchema: {}, ...own };
      },
    });
    const gateway = await openRules({ toolRules: [{ pattern: ["delete"], enabled: false }] }, alias);
    expect(getError(await gateway.run({ tool: "harmless" })).code).toBe("TOOL_DISABLED");
  });

  test("leaves the gateway's own tools as they are", async () => {
    const preset = definePreset({
      name: "own",
      plugins: [rules({ toolRules: [{ pattern: ["read", "search"], enabled: true, tags: ["t"] }] })],
      tools: ["search", "execute"].map((name) => ({ name, inputSchema: {}, run: () => textResult(name) })),
    });
    const gateway = await createGateway({ preset, plugins: [server("files", "read", "delete")] });
    expect(gateway.tools.map(({ name, enabled, tags }) => ({ name, enabled, tags }))).toEqual([
      { name: "search", enabled: true, tags: [] },
      { name: "execute", enabled: true, tags: [] },
    ]);
    for (const tool of gateway.tools) expect(tool).not.toHaveProperty("disabledBecause");
    expect(await gateway.run({ tool: "own:execute" })).toMatchObject({ ok: true });
    expect(listEnabled(gateway)).toEqual(["files:read"]);
    expect(gateway.services.rules?.explain("own", "execute")).toBe(
      '"own:execute" belongs to the gateway itself: no rule applies to it.',
    );
  });

  test("judges the tools of a server again when they change", async () => {
    const gateway = await openRules({ toolRules: [{ pattern: ["*delete*"], enabled: false }] });
    await gateway.catalog.replace({ id: "late" }, [
      { name: "delete_later", inputSchema: {} },
      { name: "keep", inputSchema: {} },
    ]);
    expect(gateway.catalog.tools("late").map((tool) => tool.enabled)).toEqual([false, true]);
  });

  test("without rules changes nothing", async () => {
    const gateway = await createGateway({ plugins: [rules(), server("files", "read")] });
    expect(gateway.catalog.revision).toBe(1);
    expect(gateway.catalog.tool("files:read")).toMatchObject({ enabled: true, tags: [] });
  });
});

describe("the service", () => {
  test("names the rules that match nothing, and why", async () => {
    const gateway = await openRules({
      toolRules: [
        { pattern: ["read"], tags: ["x"] },
        { pattern: ["raed"], enabled: false },
        { server: "guthub", pattern: ["*"], enabled: false },
        { server: "empty", pattern: ["*"], enabled: false },
        { server: "files", pattern: ["create_issue"], enabled: false },
      ],
    });
    await gateway.catalog.replace({ id: "empty" }, []);
    expect(await findFaults(gateway, "unmatched")).toEqual([
      {
        rule: 2,
        pattern: ["raed"],
        server: undefined,
        reason: 'It matches no tool. Write "read" instead of "raed"?',
      },
      {
        rule: 3,
        pattern: ["*"],
        server: "guthub",
        reason: 'There is no server "guthub"; did you mean "github"?',
      },
      { rule: 4, pattern: ["*"], server: "empty", reason: 'The server "empty" has no tools.' },
      { rule: 5, pattern: ["create_issue"], server: "files", reason: "It matches no tool." },
    ]);
    await gateway.catalog.replace({ id: "late" }, [{ name: "raed", inputSchema: {} }]);
    expect((await findFaults(gateway, "unmatched")).map(({ rule }) => rule)).toEqual([3, 4, 5]);
  });

  test("explains any tool, in the catalog or not", async () => {
    const gateway = await openRules({
      toolRules: [{ pattern: ["*delete*"], enabled: false, tags: ["dangerous", "write"] }],
    });
    expect(gateway.services.rules?.explain("files", "delete")).toBe(
      'The rules leave "files:delete" disabled. Rule 1 (*delete*) disables it. They tag it dangerous, write.',
    );
    expect(gateway.services.rules?.explain("nowhere", "read")).toBe(
      'The rules leave "nowhere:read" enabled. No rule disables it.',
    );
  });

  test("reports each fault once, also one that tools show later", async () => {
    const reported: GatewayError[] = [];
    const listener = plugin("listener", { error: (error) => void reported.push(error) });
    const toolRules = [
      { pattern: ["*"], enabled: true },
      { pattern: ["*delete*", "*drop*"], enabled: false },
    ];
    const gateway = await openRules({ toolRules }, listener);
    await expect
      .poll(() => reported)
      .toMatchObject([{ code: "RULE_DOUBTFUL", data: { rule: 2, fault: "shadowed" } }]);
    await gateway.catalog.replace({ id: "late" }, [{ name: "drop", inputSchema: {} }]);
    await gateway.catalog.replace({ id: "later" }, [{ name: "x", inputSchema: {} }]);
    await new Promise((resolve) => setTimeout(resolve, 150));
    expect(reported).toHaveLength(1);
    expect(reported[0]?.message).toBe(
      'Rule 2 (*delete*, *drop*): Rule 1 comes first and enables files:delete. Put it before rule 1, add "!*delete*", "!*drop*" to rule 1, or write "toolRules": { "conflict": "deny-wins", "rules": […] }.',
    );
  });

  test("honors a conflict of rules in which denial wins", async () => {
    const gateway = await openRules({
      toolRules: {
        conflict: "deny-wins",
        rules: [
          { pattern: ["*"], enabled: true },
          { pattern: ["*delete*"], enabled: false },
        ],
      },
    });
    expect(listEnabled(gateway)).toEqual(["files:read", "github:create_issue"]);
    expect(await gateway.services.rules?.diagnose()).toEqual([]);
  });
});

describe("the options", () => {
  test.each<[unknown, string]>([
    [{ toolRules: { conflict: "last-match" } }, "toolRules.conflict"],
    [{ toolRules: "*" }, "toolRules"],
    [{ toolRules: [{ pattern: "*" }] }, "toolRules.0.pattern"],
    [{ toolRules: [{ pattern: [] }] }, "at least one pattern"],
    [{ toolRules: [{ pattern: [""] }] }, "toolRules.0.pattern.0"],
    [{ toolRules: [{ pattern: ["*"], server: "" }] }, "toolRules.0.server"],
    [{ toolRules: [{ pattern: ["*"], enabled: "yes" }] }, "toolRules.0.enabled"],
    [{ toolRules: [{ pattern: ["*"], tags: [1] }] }, "toolRules.0.tags.0"],
    [{ toolRules: [{ pattern: ["*"], enable: true }] }, "toolRules.0.enable: there is no such option"],
  ])("are checked: %j", (options, place) => {
    expect(() => rules(options as RulesOptions)).toThrow(place);
  });

  test("with a regular expression that cannot be read keep the gateway from starting", async () => {
    const error = await catchFailure(openRules({ toolRules: [{ pattern: ["ok"] }, { pattern: ["/[/"] }] }));
    expect(error.code).toBe("PLUGIN_INVALID");
    expect(error.message).toContain('the pattern "/[/" of rule 2 cannot be used');
    expect(GatewayError.is(error)).toBe(true);
  });
});
