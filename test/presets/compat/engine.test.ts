import { PassThrough } from "node:stream";
import {
  ConfigurationError,
  ConfigurationLoader,
  ConfigurationManager,
  DEFAULT_CONFIG,
  type DiscoveryConfig,
  DiscoveryEngine,
  type ExecutionResult,
  MCPDiscoveryServer,
  ServerConnectionError,
  ServerLifecycleManager,
  type ServerMetadata,
  ToolExecutionProxy,
  type ToolMetadata,
  type ValidationResult,
} from "toolpipe/anygpt";
import { describe, expect, onTestFinished, test } from "vitest";
import { createAsk } from "../../support/ask-streams.ts";
import { place, write } from "../../support/place.ts";
import { github, issue } from "./_github.ts";

const config: DiscoveryConfig = {
  enabled: true,
  cache: { enabled: false, ttl: 3600 },
  servers: [
    { name: "github", description: "GitHub API integration", connection: { type: "stdio", ...github } },
  ],
  toolRules: [{ pattern: ["*delete*"], enabled: false, tags: ["dangerous"] }],
};
const created = { repo: "owner/repo", title: "Bug report" };

async function openEngine(given: DiscoveryConfig = config): Promise<DiscoveryEngine> {
  await place();
  const engine = new DiscoveryEngine(given);
  onTestFinished(() => engine.close());
  return engine;
}

describe("new DiscoveryEngine(config)", () => {
  test("lists, searches, describes and executes as the specification does", async () => {
    const engine = await openEngine();
    expect((await engine.searchTools("create github issue"))[0]).toMatchObject({
      server: "github",
      tool: "create_issue",
    });
    const servers: ServerMetadata[] = await engine.listServers();
    expect(servers).toMatchObject([
      {
        name: "github",
        description: "GitHub API integration",
        toolCount: 3,
        enabledCount: 2,
        status: "connected",
      },
    ]);
    expect(servers[0]?.config).toMatchObject({ command: "node", args: github.args });
    expect(JSON.stringify(servers)).not.toContain("told-mcp");
    const tools: ToolMetadata[] = await engine.listTools("github", true);
    expect(tools.map(({ name, enabled }) => [name, enabled])).toEqual([
      ["create_issue", true],
      ["list_repos", true],
      ["delete_repo", false],
    ]);
    tools[0]?.tags.push("mine");
    expect(await engine.listTools("nowhere")).toEqual([]);
    expect(await engine.getToolDetails("github", "nothing")).toBeNull();
    expect(await engine.getToolDetails("github", "create_issue")).toMatchObject({
      name: "create_issue",
      parameters: [{ name: "repo", type: "string", required: true }, { name: "title" }],
      examples: [{ parameters: { repo: expect.any(String) } }],
      tags: [],
    });
    const outcome: ExecutionResult = await engine.executeTool("github", "create_issue", created);
    expect(outcome).toEqual({ success: true, result: issue });
    expect(outcome.result.issue_number).toBe(123);
  });

  test("wraps failures in outcomes", async () => {
    const engine = await openEngine();
    const failed = await engine.executeTool("github", "list_repos", {});
    expect(failed).toEqual({
      success: false,
      error: {
        code: "TOOL_EXECUTION_ERROR",
        message: "API rate limit exceeded",
        server: "github",
        tool: "list_repos",
      },
    });
    const code = async (tool: string, args: object) =>
      (await engine.executeTool("github", tool, args)).error?.code;
    expect(await code("delete_repo", {})).toBe("TOOL_DISABLED");
    expect(await code("create_issue", {})).toBe("TOOL_VALIDATION_ERROR");
    expect(await code("nothing", {})).toBe("TOOL_NOT_FOUND");
  });

  test("finds disabled tools where they are wanted", async () => {
    const engine = await openEngine();
    const names = async (includeDisabled: boolean) =>
      (await engine.searchTools("delete repository", { includeDisabled })).map(({ tool }) => tool);
    expect(await names(false)).not.toContain("delete_repo");
    expect(await names(true)).toContain("delete_repo");
  });

  test("streams, reloads, and returns a copy of its config", async () => {
    const engine = await openEngine();
    const events: unknown[] = [];
    for await (const event of engine.executeStream("github", "create_issue", created)) events.push(event);
    expect(events).toEqual([{ type: "result", success: true, result: issue }]);
    await engine.reload();
    expect(await engine.executeTool("github", "create_issue", created)).toMatchObject({ success: true });
    const { toolRules, sources } = engine.getConfig();
    expect([toolRules, sources]).toEqual([config.toolRules, []]);
    toolRules?.pop();
    expect(engine.getConfig().toolRules).toHaveLength(1);
  });

  test.each([
    [{ enabled: "no" }, /enabled/],
    [{ enabled: true, toolrules: [] }, /toolrules/],
    [{ enabled: true, toolRules: [{ pattern: ["/(/"] }] }, /"\/\(\/"/],
  ])("throws a configuration error for %j", (given, message) => {
    const open = () => new DiscoveryEngine(given as unknown as DiscoveryConfig);
    expect(open).toThrow(ConfigurationError);
    expect(open).toThrow(message);
  });
});

describe("ToolExecutionProxy", () => {
  async function openProxy(
    ...given: ConstructorParameters<typeof ToolExecutionProxy>
  ): Promise<ToolExecutionProxy> {
    await place();
    const proxy = new ToolExecutionProxy(...given);
    onTestFinished(() => proxy.disconnect("github"));
    return proxy;
  }

  test("connects, executes, streams and disconnects", async () => {
    const proxy = await openProxy();
    expect(proxy.isConnected("github")).toBe(false);
    await proxy.connect("github", github);
    expect(proxy.isConnected("github")).toBe(true);
    expect(await proxy.execute("github", "create_issue", created)).toEqual({ success: true, result: issue });
    const iterator: AsyncIterator<unknown> = proxy.executeStream("github", "create_issue", created);
    expect((await iterator.next()).value).toEqual({ type: "result", success: true, result: issue });
    await proxy.disconnect("github");
    expect(proxy.isConnected("github")).toBe(false);
  });

  test("connects with the first call, also after a disconnect", async () => {
    const proxy = await openProxy({ github });
    for (let turn = 0; turn < 2; turn++) {
      expect(proxy.isConnected("github")).toBe(false);
      expect(await proxy.execute("github", "create_issue", created)).toMatchObject({ success: true });
      expect(proxy.isConnected("github")).toBe(true);
      await proxy.disconnect("github");
    }
  });

  test("tells of a server that cannot be reached, and of one that is not known", async () => {
    const proxy = await openProxy();
    const nowhere = { command: "/not/here", args: [] };
    const failure = await proxy.connect("github", nowhere).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(ServerConnectionError);
    expect(failure).toMatchObject({ code: "SERVER_CONNECTION_ERROR", server: "github" });
    expect(await proxy.execute("github", "create_issue", created)).toMatchObject({
      success: false,
      error: { code: "TOOL_EXECUTION_ERROR", details: { code: "SERVER_CONNECTION_ERROR" }, server: "github" },
    });
    expect(await proxy.execute("jira", "create_ticket", {})).toMatchObject({
      success: false,
      error: { code: "TOOL_NOT_FOUND", server: "jira", tool: "create_ticket" },
    });
  });
});

describe("ConfigurationLoader and ConfigurationManager", () => {
  test("load the file of the project, and the defaults where there is none", async () => {
    const { project } = await place();
    const loader = new ConfigurationLoader();
    expect(await loader.load()).toEqual(DEFAULT_CONFIG);
    await write(project, {
      "anygpt.config.ts": `export default { discovery: ${JSON.stringify({ ...config, sources: [] })} };`,
    });
    const loaded = await loader.load();
    expect(loaded).toEqual({ ...config, sources: [] });
    const engine = new DiscoveryEngine(loaded);
    onTestFinished(() => engine.close());
    expect(await engine.executeTool("github", "create_issue", created)).toMatchObject({ success: true });
  });

  test("load a file by its path, and read it again", async () => {
    const { project } = await place({ project: { "own.json": { mcpServers: { github } } } });
    const manager = new ConfigurationManager();
    expect(await manager.loadConfig("own.json")).toMatchObject({
      enabled: true,
      servers: [{ name: "github" }],
    });
    await write(project, { "own.json": { toolRules: [{ pattern: ["*"], enabled: false }] } });
    await manager.reload();
    expect(manager.getConfig()).toMatchObject({ servers: [], toolRules: [{ pattern: ["*"] }] });
    await write(project, { "own.json": { toolRules: 5 } });
    await expect(manager.reload()).rejects.toThrow(ConfigurationError);
    expect(manager.getConfig()).toMatchObject({ toolRules: [{ pattern: ["*"] }] });
    expect(manager.getDefaultConfig()).toEqual(DEFAULT_CONFIG);
  });

  test("a config that is switched off stays off", async () => {
    await place({ project: { "anygpt.config.ts": "export default { discovery: { enabled: false } };" } });
    expect(await new ConfigurationLoader().load()).toMatchObject({ enabled: false, servers: [] });
  });

  test("validate says what is wrong", () => {
    const loader = new ConfigurationLoader();
    const valid: ValidationResult = loader.validate(DEFAULT_CONFIG);
    expect(valid).toEqual({ valid: true, errors: [] });
    const { valid: isValid, errors } = loader.validate({ enabled: true, toolRules: [{ pattern: ["/(/"] }] });
    expect([isValid, errors.length]).toEqual([false, 1]);
  });
});

describe("MCPDiscoveryServer and ServerLifecycleManager", () => {
  test("serve the five tools to an agent until they are stopped", async () => {
    const engine = await openEngine();
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const server = new MCPDiscoveryServer(engine, streams);
    const manager = new ServerLifecycleManager();
    const before = process.listenerCount("SIGTERM");
    await manager.start(server);
    expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    const ask = createAsk(streams);
    const listed = (await ask("tools/list", {})) as { tools: { name: string }[] };
    expect(listed.tools.map(({ name }) => name)).toEqual([
      "list_mcp_servers",
      "search_tools",
      "list_tools",
      "get_tool_details",
      "execute_tool",
    ]);
    const params = {
      name: "execute_tool",
      arguments: { server: "github", tool: "create_issue", arguments: created },
    };
    expect(await ask("tools/call", params)).toMatchObject({ content: [{ text: JSON.stringify(issue) }] });
    // The engine and its server share one gateway.
    expect((await engine.listServers())[0]).toMatchObject({ status: "connected", toolCount: 3 });
    await manager.stop();
    await manager.stop();
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  test("end when the agent disconnects", async () => {
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const server = new MCPDiscoveryServer(await openEngine(), streams);
    await server.start();
    streams.input.end();
    await server.ended;
    await server.stop();
  });
});
