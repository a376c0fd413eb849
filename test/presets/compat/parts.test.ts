import fc from "fast-check";
import {
  applyToolRules,
  CachingLayer,
  ConfigurationError,
  calculateRelevance,
  DiscoveryError,
  MCPProtocolError,
  matchPattern,
  PatternMatcher,
  SearchEngine,
  type SearchResult,
  ServerConnectionError,
  type ServerMetadata,
  ToolExecutionError,
  type ToolMetadata,
  ToolMetadataManager,
  ToolNotFoundError,
  type ToolRule,
  ValidationError,
} from "toolpipe/anygpt";
import { describe, expect, test, vi } from "vitest";

function tool(name: string, more: Partial<ToolMetadata> = {}): ToolMetadata {
  return { server: "github", name, summary: "", enabled: true, tags: [], ...more };
}

describe("PatternMatcher and matchPattern", () => {
  test.each<[name: string, patterns: string[], matches: boolean]>([
    ["get_github_user", ["*github*"], true],
    ["github_user", ["github_*"], true],
    ["create_issue", ["*_issue"], true],
    ["delete_issue", ["*issue*", "!*delete*"], false],
    ["create_issue", ["!*delete*"], true],
    ["delete_issue", ["!*delete*"], false],
    ["create_issue", ["/^create_/"], true],
    ["list_issue", ["/^create_/"], false],
    ["Read file", ["/\\b(read|list)\\b/i"], true],
    ["read_1", ["read_?"], true],
    ["read_1", ["read_[0-9]"], true],
    ["anything", [], false],
  ])("of %s against %j: %s", (name, patterns, matches) => {
    expect(matchPattern(name, patterns)).toBe(matches);
    expect(new PatternMatcher().match(name, patterns)).toBe(matches);
  });

  test("a rule of a server is for its tools only", () => {
    const matcher = new PatternMatcher();
    const rule: ToolRule = { pattern: ["*issue*"], server: "github", enabled: true };
    expect(matcher.matchWithServer("create_issue", "github", rule)).toBe(true);
    expect(matcher.matchWithServer("create_issue", "jira", rule)).toBe(false);
  });

  test("a pattern that cannot be used is a configuration error that names it", () => {
    expect(() => matchPattern("x", ["/(/"])).toThrow(ConfigurationError);
    expect(() => matchPattern("x", ["/(/"])).toThrow(/"\/\(\/"/);
  });
});

describe("applyToolRules and ToolMetadataManager", () => {
  const rules: ToolRule[] = [
    { pattern: ["*delete*"], enabled: false, tags: ["dangerous"] },
    { server: "github", pattern: ["*repo*"], enabled: true, tags: ["repos"] },
  ];

  test("the first match decides, tags add up, and an enabling rule disables the rest", () => {
    const tools = [tool("delete_repo", { tags: ["own"] }), tool("list_repos"), tool("create_issue")];
    expect(applyToolRules(tools, rules)).toEqual([
      tool("delete_repo", { enabled: false, tags: ["own", "dangerous", "repos"] }),
      tool("list_repos", { tags: ["repos"] }),
      tool("create_issue", { enabled: false }),
    ]);
    expect(tools[0]).toEqual(tool("delete_repo", { tags: ["own"] }));
  });

  test("the manager stores, filters and counts tools, also those that are added after the rules", () => {
    const manager = new ToolMetadataManager();
    manager.addTool(tool("delete_repo"));
    manager.addTool(tool("list_repos"));
    manager.applyRules(rules);
    manager.addTool(tool("create_issue"));
    expect(manager.getToolsByServer("github").map(({ name }) => name)).toEqual(["list_repos"]);
    expect(manager.getToolsByServer("github", true)).toHaveLength(3);
    expect(manager.getAllTools()).toHaveLength(1);
    expect(manager.getAllTools(true)).toHaveLength(3);
    expect(manager.getTool("github", "delete_repo")).toMatchObject({
      enabled: false,
      tags: ["dangerous", "repos"],
    });
    expect(manager.getTool("github", "nothing")).toBeNull();
    expect([manager.getToolCount("github"), manager.getEnabledCount("github")]).toEqual([3, 1]);
    expect([manager.getToolCount("jira"), manager.getEnabledCount("jira")]).toEqual([0, 0]);
    manager.applyRules([]);
    expect(manager.getEnabledCount("github")).toBe(3);
    expect(manager.getTool("github", "delete_repo")?.tags).toEqual([]);
  });
});

describe("SearchEngine and calculateRelevance", () => {
  const tools = [
    tool("create_issue", { summary: "Create a new GitHub issue", tags: ["issues"] }),
    tool("list_repos", { summary: "List repositories" }),
    tool("create_ticket", { server: "jira", summary: "Create a ticket", enabled: false }),
  ];

  test.each([
    ["create_issue", 1],
    ["zzz", 0],
    ["list", 1],
    ["new thing", 0.3],
    ["issues", 0.3],
  ])("the relevance of create_issue to %j follows the formula", (query, relevance) => {
    const [first, second] = tools as [ToolMetadata, ToolMetadata];
    expect(calculateRelevance(query === "list" ? second : first, query)).toBeCloseTo(relevance);
  });

  test("results are sorted, limited to a server and a number, and enabled unless all are wanted", () => {
    const engine = new SearchEngine();
    engine.index(tools);
    const [best]: SearchResult[] = engine.search("create issue");
    expect(best).toEqual({
      server: "github",
      tool: "create_issue",
      summary: "Create a new GitHub issue",
      relevance: 1,
      tags: ["issues"],
    });
    const names = (...args: Parameters<SearchEngine["search"]>) =>
      engine.search(...args).map((hit) => hit.tool);
    expect(names("create")).toEqual(["create_issue"]);
    expect(names("create", { includeDisabled: true })).toEqual(["create_issue", "create_ticket"]);
    expect(names("create", { server: "jira", includeDisabled: true })).toEqual(["create_ticket"]);
    expect(names("create", { limit: 1, includeDisabled: true })).toHaveLength(1);
    expect(names("create", { limit: 0, includeDisabled: true })).toHaveLength(2);
    engine.index([]);
    expect(names("create")).toEqual([]);
  });

  test("a relevance is always between 0 and 1", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.string(),
        fc.array(fc.string()),
        fc.string(),
        (name, summary, tags, query) => {
          const relevance = calculateRelevance(tool(name, { summary, tags }), query);
          expect(relevance >= 0 && relevance <= 1).toBe(true);
        },
      ),
    );
  });
});

describe("CachingLayer", () => {
  const servers: ServerMetadata[] = [];
  const tools = [tool("create_issue")];

  test("keeps lists for their time, and details until they are invalidated", async () => {
    const cache = new CachingLayer();
    expect([
      cache.getServerList(),
      cache.getToolSummaries("github"),
      cache.getToolDetails("github", "x"),
    ]).toEqual([null, null, null]);
    cache.cacheServerList(servers, 3600);
    cache.cacheToolSummaries("github", tools, 0.001);
    cache.cacheToolSummaries("jira", tools, 0);
    cache.cacheToolDetails("github", "create_issue", tool("create_issue"));
    expect(cache.getServerList()).toBe(servers);
    expect(cache.getToolSummaries("jira")).toBeNull();
    await vi.waitUntil(() => cache.getToolSummaries("github") === null);
    expect(cache.getToolDetails("github", "create_issue")).toEqual(tool("create_issue"));
    cache.invalidate("github");
    expect(cache.getToolDetails("github", "create_issue")).toBeNull();
    expect(cache.getServerList()).toBe(servers);
    cache.invalidate("servers");
    expect(cache.getServerList()).toBeNull();
    cache.cacheServerList(servers, 3600);
    cache.invalidate();
    expect(cache.getServerList()).toBeNull();
    cache.cacheServerList(servers, 3600);
    cache.invalidateAll();
    expect(cache.getServerList()).toBeNull();
  });

  test("keeps nothing where it is off", () => {
    const cache = new CachingLayer({ enabled: false, ttl: 3600 });
    cache.cacheToolSummaries("github", tools, 3600);
    expect(cache.getToolSummaries("github")).toBeNull();
  });
});

test("errors have their codes, names and facts", () => {
  const facts = { server: "github", tool: "create_issue", details: { status: 403 } };
  const errors = [
    ConfigurationError,
    ServerConnectionError,
    ToolExecutionError,
    ToolNotFoundError,
    ValidationError,
  ];
  const rows = errors.map((Kind) => {
    const error = new Kind("It failed.", facts);
    expect(error).toBeInstanceOf(DiscoveryError);
    expect(error).toBeInstanceOf(Error);
    expect(error.message).toBe("It failed.");
    expect(error.details).toEqual({ status: 403 });
    return [error.name, error.code];
  });
  expect(rows).toEqual([
    ["ConfigurationError", "CONFIGURATION_ERROR"],
    ["ServerConnectionError", "SERVER_CONNECTION_ERROR"],
    ["ToolExecutionError", "TOOL_EXECUTION_ERROR"],
    ["ToolNotFoundError", "TOOL_NOT_FOUND"],
    ["ValidationError", "VALIDATION_ERROR"],
  ]);
  const { server, tool: name } = new ToolNotFoundError("It failed.", facts);
  expect([server, name, new ServerConnectionError("x", facts).server]).toEqual([
    "github",
    "create_issue",
    "github",
  ]);
  const protocol = new MCPProtocolError(-32601, "Method not found", { method: "x" });
  expect([protocol.name, protocol.code, protocol.data]).toEqual([
    "MCPProtocolError",
    -32601,
    { method: "x" },
  ]);
});
