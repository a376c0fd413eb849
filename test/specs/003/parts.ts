import { join } from "node:path";
import { PassThrough } from "node:stream";
import {
  ConfigurationError,
  ConfigurationManager,
  DEFAULT_CONFIG,
  DiscoveryEngine,
  MCPDiscoveryServer,
  MCPProtocolError,
  ServerLifecycleManager,
  ToolExecutionError,
} from "toolpipe/anygpt";
import { expect, onTestFinished } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { createDiscoveryEngine } from "../../../presets/anygpt/mod.ts";
import { createAsk } from "../../support/ask-streams.ts";
import { startServe } from "../../support/start-serve.ts";
import { temporaryFolder, writeFiles } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { createdIssue, servers, toEntries } from "../stage.ts";

const issue = { repo: "owner/repo", title: "Bug", body: "..." };

/** Opens an engine with a server over streams, until the test is over. */
function openServer() {
  const engine = new DiscoveryEngine({ ...DEFAULT_CONFIG, servers: toEntries(["github"]) });
  const streams = { input: new PassThrough(), output: new PassThrough() };
  const server = new MCPDiscoveryServer(engine, streams);
  onTestFinished(() => server.stop());
  return { engine, server, streams, ask: createAsk(streams) };
}

/** Starts `serve` on servers of the stage, with a home of its own, and calls a tool of one of them. */
async function callOver(options: JsonObject, name: keyof typeof servers) {
  const home = await temporaryFolder();
  const config = { mcpServers: { [name]: servers[name] }, ...options };
  await writeFiles(home, { "toolpipe.config.json": JSON.stringify(config) });
  const env = { ...process.env, HOME: home, USERPROFILE: home, TOOLPIPE_HOME: join(home, "state") };
  const serving = startServe(["--config", "toolpipe.config.json"], { cwd: home, env });
  const target = { server: name, tool: "create_issue", arguments: issue };
  const { result } = await serving.request("tools/call", { name: "execute_tool", arguments: target });
  return { serving, result: result as { isError?: boolean; content: { text: string }[] } };
}

/** Lines 52 to 64, 329 to 406 and 476 to 506: the classes, the form of answers, and what becomes of failures. */
export function partRows({ row, differs }: Specification): void {
  row("52, 55-60, 64, 516", "MCPDiscoveryServer takes an engine, starts and stops.", async () => {
    const { engine, server, ask } = openServer();
    await server.start();
    expect(await ask("ping", {})).toEqual({});
    await engine.executeTool("github", "list_repos", {});
    expect(await engine.listServers()).toMatchObject([{ name: "github", status: "connected" }]);
    await server.stop();
    expect(await engine.listServers()).toMatchObject([{ name: "github", status: "disconnected" }]);
  });
  differs(
    "53-54",
    "It keeps the SDK's server and transport.",
    "The server side is the project's own, as lines 48 to 50 have it; the streams of the process can be replaced by others.",
    async () => {
      const { server, streams, ask } = openServer();
      expect(Object.keys(server)).toEqual([]);
      await server.start();
      expect(await ask("ping", {})).toEqual({});
      streams.input.end();
      await server.ended;
    },
  );
  row("62-63", "It registers the tools, and gives a call to the one that is named.", async () => {
    const { server, ask } = openServer();
    await server.start();
    expect(await ask("tools/list", {})).toMatchObject({ tools: { length: 5 } });
    const target = { server: "github", tool: "create_issue", arguments: issue };
    expect(await ask("tools/call", { name: "execute_tool", arguments: target })).toMatchObject({
      structuredContent: createdIssue,
    });
  });

  const asItIs =
    "An agent gets what the tool returned, which clients understand; executeTool, execute --json and the option answers.envelope give this form.";
  differs(
    "329-337",
    "A success is { success: true, result }, with the tool's own value.",
    asItIs,
    async () => {
      const plain = await callOver({}, "github");
      expect(JSON.parse(plain.result.content[0]?.text ?? "")).toEqual(createdIssue);
      const { result } = await callOver({ options: { answers: { envelope: true } } }, "github");
      expect(JSON.parse(result.content[0]?.text ?? "")).toEqual({ success: true, result: createdIssue });
    },
  );
  differs(
    "342-350",
    "A failure is { success: false, error } with code, message, server and tool.",
    asItIs,
    async () => {
      const message = "Failed to create issue: API rate limit exceeded";
      const plain = await callOver({}, "limited");
      expect(plain.result).toMatchObject({ isError: true, content: [{ text: message }] });
      const { result } = await callOver({ options: { answers: { envelope: true } } }, "limited");
      expect(result.isError).toBe(true);
      const error = { code: "TOOL_EXECUTION_ERROR", message, server: "limited", tool: "create_issue" };
      expect(JSON.parse(result.content[0]?.text ?? "")).toEqual({ success: false, error });
    },
  );

  row(
    "355, 364-368, 572",
    "ConfigurationManager loads a config, gives the default, and reloads.",
    async () => {
      const folder = await temporaryFolder({ "own.json": '{ "toolRules": [] }' });
      const file = join(folder, "own.json");
      const manager = new ConfigurationManager();
      expect(manager.getDefaultConfig()).toEqual(DEFAULT_CONFIG);
      expect(await manager.loadConfig(file)).toMatchObject({ toolRules: [] });
      await writeFiles(folder, {
        "own.json": JSON.stringify({ toolRules: [{ pattern: ["*x*"], enabled: false }] }),
      });
      await manager.reload();
      expect(manager.getConfig()).toMatchObject({ toolRules: [{ pattern: ["*x*"] }] });
      await writeFiles(folder, { "own.json": JSON.stringify({ toolRules: 5 }) });
      await expect(manager.reload()).rejects.toThrow(ConfigurationError);
    },
  );
  row(
    "373, 379-385",
    "DEFAULT_CONFIG has no sources and no rules, so that every tool is enabled.",
    async () => {
      expect(DEFAULT_CONFIG).toEqual({
        enabled: true,
        cache: { enabled: true, ttl: 3600 },
        sources: [],
        toolRules: [],
      });
      const engine = new DiscoveryEngine({ ...DEFAULT_CONFIG, servers: toEntries(["github"]) });
      onTestFinished(() => engine.close());
      expect(await engine.listServers()).toMatchObject([{ toolCount: 4, enabledCount: 4 }]);
    },
  );

  row(
    "400-406",
    "ServerLifecycleManager starts a server, listens for both signals, and stops it.",
    async () => {
      const { server, ask } = openServer();
      const manager = new ServerLifecycleManager();
      const count = () => process.listenerCount("SIGINT") + process.listenerCount("SIGTERM");
      const before = count();
      await manager.start(server);
      expect(count()).toBe(before + 2);
      expect(await ask("ping", {})).toEqual({});
      await manager.stop();
      expect(count()).toBe(before);
    },
  );

  row("476-480", "MCPProtocolError has a JSON-RPC code, and data.", () => {
    const error = new MCPProtocolError(-32601, "There is no such method.", { method: "x" });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "MCPProtocolError", code: -32601, data: { method: "x" } });
  });
  row("482-487", "ToolExecutionError has code, server and tool, as a failing call does.", async () => {
    const names = { server: "limited", tool: "create_issue" };
    const error = new ToolExecutionError("It failed.", names);
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ code: "TOOL_EXECUTION_ERROR", ...names });
    const engine = new DiscoveryEngine({ ...DEFAULT_CONFIG, servers: toEntries(["limited"]) });
    onTestFinished(() => engine.close());
    expect(await engine.executeTool("limited", "create_issue", issue)).toMatchObject({
      error: { code: "TOOL_EXECUTION_ERROR", ...names },
    });
  });
  row("506", "A server that cannot be reached is logged, and is disconnected.", async () => {
    const { serving, result } = await callOver({}, "dead");
    expect(result.isError).toBe(true);
    expect(await serving.line('The server "dead"')).toContain("toolpipe-no-such-command");
    const { result: listed } = await serving.request("tools/call", {
      name: "list_mcp_servers",
      arguments: {},
    });
    const { content } = listed as { content: { text: string }[] };
    expect(JSON.parse(content[0]?.text ?? "")).toMatchObject({ servers: [{ status: "disconnected" }] });
  });

  differs(
    "701",
    "A long call returns at once, and is polled.",
    "A call is answered with its result alone: progress tells the client that it goes on, it can be cancelled, and others run meanwhile.",
    async () => {
      const engine = await createDiscoveryEngine({ servers: toEntries(["faulty"]) });
      onTestFinished(() => engine.close());
      const seen: string[] = [];
      for await (const { type } of engine.executeStream("faulty", "steps", {})) seen.push(type);
      expect(seen).toEqual(["progress", "progress", "progress", "result"]);
    },
  );
}
