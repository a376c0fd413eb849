import {
  ConfigurationError,
  ConfigurationLoader,
  type DiscoveryConfig,
  DiscoveryEngine,
  DiscoveryError,
  ServerConnectionError,
  ToolExecutionError,
  ToolExecutionProxy,
  ToolNotFoundError,
  ValidationError,
} from "toolpipe/anygpt";
import { expect } from "vitest";
import { startServe } from "../../support/start-serve.ts";
import type { Specification } from "../specification.ts";
import { servers, toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { config, openEngine, openSession, world } from "./world.ts";

const given = { repo: "owner/repo", title: "Bug report" };
const facts = { server: "github", tool: "create_issue", details: { status: 403 } };

/** Lines 279 to 283: failures of executions. Lines 483 to 529: errors. */
export function errorRows({ row, differs, added, prose }: Specification): void {
  prose(279, 483, 485, 524);

  row(
    "280",
    "A server that cannot be reached fails the call as an execution, with the failed connection as details.",
    async () => {
      for (const execute of [
        () => world.engine.executeTool("dead", "tool", {}),
        () => new ToolExecutionProxy({ dead: servers.dead }).execute("dead", "tool", {}),
      ])
        expect(await execute()).toMatchObject({
          success: false,
          error: {
            code: "TOOL_EXECUTION_ERROR",
            message: expect.stringContaining(servers.dead.command),
            details: { code: "SERVER_CONNECTION_ERROR" },
          },
        });
    },
  );
  row(
    "281",
    "What a server says of a failure comes through as it is, as a result or as an error of the protocol.",
    async () => {
      const message = "Nothing on the shelf.";
      expect((await world.engine.executeTool("faulty", "error", { message })).error?.message).toBe(message);
      expect((await world.engine.executeTool("faulty", "fail", {})).error?.message).toBe("It did not work.");
    },
  );
  row("282", "A tool that does not answer in time ends with TOOL_EXECUTION_TIMEOUT.", async () => {
    const [entry] = toEntries(["faulty"]);
    const limitedEntry = { ...entry, name: "faulty", callTimeoutMs: 100 };
    const engine = openEngine({ enabled: true, servers: [limitedEntry] });
    expect(await engine.executeTool("faulty", "wait", {})).toMatchObject({
      success: false,
      error: { code: "TOOL_EXECUTION_TIMEOUT", server: "faulty", tool: "wait" },
    });
  });
  row(
    "283",
    "Arguments that the schema of the tool does not take end with TOOL_VALIDATION_ERROR.",
    async () => {
      for (const wrong of [{}, { repo: "a/b" }, { ...given, title: 5 }, "text", null])
        expect(await world.engine.executeTool("github", "create_issue", wrong)).toMatchObject({
          success: false,
          error: { code: "TOOL_VALIDATION_ERROR" },
        });
    },
  );

  differs(
    "280-283",
    "There are four codes of failures.",
    "A disabled and an unknown tool have codes of their own, since only the user can change the one, and only another name helps with the other.",
    async () => {
      const code = async (server: string, tool: string) =>
        (await world.engine.executeTool(server, tool, {})).error?.code;
      expect(await code("github", "delete_repo")).toBe("TOOL_DISABLED");
      expect(await code("github", "nothing")).toBe("TOOL_NOT_FOUND");
      expect(await code("nowhere", "nothing")).toBe("TOOL_NOT_FOUND");
    },
  );

  row("488-491", "DiscoveryError is an Error with a code, and details where there are any.", async () => {
    expect(await findTypeFaults("DiscoveryError")).toEqual([]);
    const error = new DiscoveryError("It failed.", { code: "OWN", details: { status: 403 } });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "OWN", message: "It failed.", details: { status: 403 } });
    expect(new DiscoveryError("It failed.").details).toBeUndefined();
  });

  row(
    "493-496",
    "A config that cannot be used throws a ConfigurationError with CONFIGURATION_ERROR.",
    async () => {
      expect(await findTypeFaults("ConfigurationError")).toEqual([]);
      let thrown: unknown;
      try {
        new DiscoveryEngine({ enabled: "no" } as unknown as DiscoveryConfig);
      } catch (error) {
        thrown = error;
      }
      expect(thrown).toBeInstanceOf(ConfigurationError);
      expect(thrown).toBeInstanceOf(DiscoveryError);
      expect(thrown).toMatchObject({
        code: "CONFIGURATION_ERROR",
        message: expect.stringContaining("enabled"),
      });
    },
  );

  row(
    "498-502",
    "A server that cannot be reached is a ServerConnectionError with the server's name.",
    async () => {
      expect(await findTypeFaults("ServerConnectionError")).toEqual([]);
      const thrown = await new ToolExecutionProxy()
        .connect("gone", servers.dead)
        .catch((error: unknown) => error);
      expect(thrown).toBeInstanceOf(ServerConnectionError);
      expect(thrown).toBeInstanceOf(DiscoveryError);
      expect(thrown).toMatchObject({ code: "SERVER_CONNECTION_ERROR", server: "gone" });
    },
  );

  row(
    "504-509",
    "ToolExecutionError has TOOL_EXECUTION_ERROR, server and tool, as a failed outcome has.",
    async () => {
      expect(await findTypeFaults("ToolExecutionError")).toEqual([]);
      const { error } = await world.engine.executeTool("faulty", "fail", {});
      const rebuilt = new ToolExecutionError(error?.message ?? "", {
        server: error?.server,
        tool: error?.tool,
      });
      expect(rebuilt).toBeInstanceOf(DiscoveryError);
      expect({ ...error }).toMatchObject({ code: rebuilt.code, server: rebuilt.server, tool: rebuilt.tool });
      expect(rebuilt).toMatchObject({ code: "TOOL_EXECUTION_ERROR", server: "faulty", tool: "fail" });
    },
  );

  row(
    "511-516",
    "ToolNotFoundError has TOOL_NOT_FOUND, server and tool, as the outcome of an unknown tool has.",
    async () => {
      expect(await findTypeFaults("ToolNotFoundError")).toEqual([]);
      const { error } = await world.engine.executeTool("github", "nothing", {});
      const built = new ToolNotFoundError("There is none.", facts);
      expect(built).toBeInstanceOf(DiscoveryError);
      expect(built).toMatchObject({ code: error?.code, server: "github", tool: "create_issue" });
      expect(error).toMatchObject({ code: "TOOL_NOT_FOUND", server: "github", tool: "nothing" });
    },
  );

  row("518-521", "ValidationError has VALIDATION_ERROR and its details.", async () => {
    expect(await findTypeFaults("ValidationError")).toEqual([]);
    const built = new ValidationError("It is wrong.", facts);
    expect(built).toBeInstanceOf(DiscoveryError);
    expect(built).toMatchObject({ code: "VALIDATION_ERROR", details: { status: 403 } });
  });

  row("526", "Errors of a config are thrown when it is loaded or an engine is created.", async () => {
    const rules = [{ pattern: ["/(/"] }];
    expect(() => new DiscoveryEngine({ enabled: true, toolRules: rules })).toThrow(ConfigurationError);
    await expect(new ConfigurationLoader().load("nowhere.json")).rejects.toThrow(ConfigurationError);
  });

  row(
    "527",
    "A failed connection is reported, marks its server as disconnected, and is what a call gets.",
    async () => {
      const serving = startServe(["--config", "anygpt.config.ts"], { cwd: world.project, env: process.env });
      await serving.request("initialize", {
        protocolVersion: "2025-06-18",
        capabilities: {},
        clientInfo: { name: "rows", version: "1" },
      });
      const call = async (name: string, args: object): Promise<string> =>
        JSON.stringify((await serving.request("tools/call", { name, arguments: args }))["result"]);
      const target = { server: "dead", tool: "tool", arguments: {} };
      expect(await call("execute_tool", target)).toContain(servers.dead.command);
      expect(await serving.line(servers.dead.command)).toContain("dead");
      expect(serving.errors.filter((line) => line.includes(servers.dead.command))).toHaveLength(1);
      const listed = (await world.engine.listServers()).find(({ name }) => name === "dead");
      expect(listed).toMatchObject({
        status: "disconnected",
        reason: expect.stringContaining(servers.dead.command),
      });
      expect(await call("list_mcp_servers", {})).toContain("disconnected");
    },
  );

  row("528", "A failed execution is an outcome with its error, whatever failed.", async () => {
    const failing = [
      ["faulty", "fail", {}],
      ["faulty", "error", {}],
      ["github", "create_issue", {}],
      ["github", "delete_repo", {}],
      ["github", "nothing", {}],
      ["nowhere", "nothing", {}],
      ["dead", "nothing", {}],
    ] as const;
    for (const [server, tool, args] of failing)
      expect(await world.engine.executeTool(server, tool, args)).toEqual({
        success: false,
        error: expect.objectContaining({
          code: expect.any(String),
          message: expect.any(String),
          server,
          tool,
        }),
      });
  });

  row("529", "What is not there is null or an empty list, and no exception.", async () => {
    const { engine } = world;
    expect(await engine.getToolDetails("github", "nothing")).toBeNull();
    expect(await engine.getToolDetails("nowhere", "nothing")).toBeNull();
    expect(await engine.getToolDetails("dead", "nothing")).toBeNull();
    expect(await engine.listTools("nowhere")).toEqual([]);
    expect(await engine.listTools("dead")).toEqual([]);
    expect(await engine.searchTools("create", { server: "nowhere" })).toEqual([]);
    expect(await engine.searchTools("zzzzqq")).toEqual([]);
  });

  added(
    "526-529",
    "An agent gets the same failures as results with a code, not as ends of its session.",
    "The lines speak of the engine alone.",
    async () => {
      const session = await openSession(openEngine({ ...config, servers: toEntries(["github", "dead"]) }));
      for (const target of [
        { server: "dead", tool: "x" },
        { server: "github", tool: "nothing" },
      ])
        expect(await session.call("execute_tool", { ...target, arguments: {} })).toMatchObject({
          isError: true,
        });
      expect(await session.answer("list_tools", { server: "github" })).toMatchObject({ server: "github" });
    },
  );
}
