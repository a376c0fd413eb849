import { describe, expect, onTestFinished, test } from "vitest";
import { definePlugin, localTools, type Plugin, textResult } from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import {
  createDiscoveryEngine,
  type DiscoveryConfig,
  type DiscoveryEngine,
} from "../../../presets/anygpt/mod.ts";
import { catchFailure, getError, parseJson } from "../../support/failure.ts";
import { fixture, script } from "../../support/stdio-servers.ts";
import { until } from "../../support/until.ts";

type Given = Parameters<typeof createDiscoveryEngine>[0];

async function openEngine(config: Given, plugins: readonly Plugin[] = []): Promise<DiscoveryEngine> {
  const engine = await createDiscoveryEngine(config, {
    plugins,
    options: { audit: { sink: memorySink() }, cache: { enabled: false } },
  });
  onTestFinished(() => engine.close());
  return engine;
}

const sdk = {
  name: "sdk",
  description: "A small server",
  connection: script(fixture("sdk-server.mjs"), "--legacy", "serve"),
};
const dead = {
  name: "dead",
  connection: { type: "stdio", command: "toolpipe-no-such-command", args: ["--token=abc"] },
};

describe("an engine over a server of its config", () => {
  test("waits for the first list, searches it, and executes", async () => {
    const engine = await openEngine({ enabled: true, servers: [sdk] });
    expect((await engine.searchTools("says"))[0]).toMatchObject({ server: "sdk", tool: "echo" });
    expect(await engine.listServers()).toMatchObject([
      { name: "sdk", description: "A small server", toolCount: 5, enabledCount: 5, status: "connected" },
    ]);
    expect(await engine.executeTool("sdk", "echo", { text: "hello" })).toMatchObject({
      success: true,
      result: "hello",
    });
    expect(await engine.executeTool("sdk", "fail", {})).toMatchObject({
      success: false,
      error: { code: "TOOL_EXECUTION_ERROR", message: "It did not work.", server: "sdk", tool: "fail" },
    });
    const seen: unknown[] = [];
    for await (const event of engine.executeStream("sdk", "steps", {})) seen.push(event);
    expect(seen).toMatchObject([
      { type: "progress", message: "step 1" },
      { type: "progress", message: "step 2" },
      { type: "progress", message: "step 3" },
      { type: "result", success: true },
    ]);
  });

  test("applies the rules of the config", async () => {
    const engine = await openEngine({
      servers: [sdk],
      toolRules: [{ pattern: ["fail"], enabled: false, tags: ["odd"] }],
    });
    expect((await engine.listTools("sdk")).map(({ name }) => name)).not.toContain("fail");
    expect(await engine.listTools("sdk", true)).toContainEqual(
      expect.objectContaining({ name: "fail", enabled: false, tags: ["odd"] }),
    );
    expect(await engine.executeTool("sdk", "fail", {})).toMatchObject({ error: { code: "TOOL_DISABLED" } });
  });

  test("says of a server that cannot be used why, and the others work", async () => {
    const engine = await openEngine({ servers: [dead, sdk, { ...sdk, name: "off", disabled: true }] });
    await until(async () => (await engine.listServers())[0]?.reason !== undefined);
    const [broken, working, off] = await engine.listServers();
    expect(broken).toMatchObject({ name: "dead", toolCount: 0, status: "disconnected" });
    expect(broken?.reason).toMatch(/\w+.*\.$/);
    expect(working).not.toHaveProperty("reason");
    expect(off).toMatchObject({ status: "disconnected", reason: expect.stringContaining("switched off") });
    const call = await engine.gateway.run({ tool: "anygpt:list_tools", args: { server: "dead" } });
    expect(getError(call).kind.spec).toBe("SERVER_CONNECTION_ERROR");
    expect(await engine.executeTool("dead", "anything", {})).toMatchObject({
      error: { code: "TOOL_EXECUTION_ERROR", details: { code: "SERVER_CONNECTION_ERROR" } },
    });
    expect(await engine.executeTool("off", "echo", { text: "x" })).toMatchObject({ success: false });
    const found = parseJson(
      await engine.gateway.run({ tool: "anygpt:search_tools", args: { query: "says" } }),
    );
    const { results } = found as { results: { server: string; tool: string }[] };
    expect(results[0]).toMatchObject({ server: "sdk", tool: "echo" });
    expect(new Set(results.map(({ server }) => server))).toEqual(new Set(["sdk"]));
  });

  test("has the definition of each server at hand, but not where it is printed", async () => {
    const engine = await openEngine({ servers: [dead] });
    const [server] = await engine.listServers();
    expect(server?.config).toMatchObject({
      type: "stdio",
      command: "toolpipe-no-such-command",
      args: ["--token=abc"],
    });
    expect(JSON.stringify(server)).not.toContain("abc");
    expect({ ...server }).not.toHaveProperty("config");
    const call = await engine.gateway.run({ tool: "anygpt:list_mcp_servers" });
    expect(JSON.stringify(call)).not.toContain("abc");
  });

  test("names the servers that a search right after the start could not wait for", async () => {
    const engine = await createDiscoveryEngine(
      { servers: [{ name: "slow", connection: script(fixture("faulty-mcp.mjs"), "--mode", "hanginit") }] },
      { options: { audit: { sink: memorySink() }, cache: { enabled: false }, answers: { waitMs: 50 } } },
    );
    onTestFinished(() => engine.close());
    const call = await engine.gateway.run({ tool: "anygpt:search_tools", args: { query: "x" } });
    expect(parseJson(call)).toEqual({ results: [], notSearched: ["slow"] });
  });
});

describe("the config of an engine", () => {
  test("is given back with its defaults", async () => {
    expect((await openEngine({})).getConfig()).toEqual({
      enabled: true,
      cache: { enabled: true, ttl: 3600 },
      sources: [],
      servers: [],
      toolRules: [],
    });
  });

  test("that is not enabled has no servers", async () => {
    const engine = await openEngine({ enabled: false, servers: [sdk] });
    expect(await engine.listServers()).toEqual([]);
    expect(engine.getConfig()).toMatchObject({ enabled: false, servers: [sdk] });
  });

  test.each([
    [{ enabled: "yes" }, "discovery: enabled: expected true or false"],
    [{ toolrules: [] }, "discovery: toolrules: there is no such option"],
    [{ servers: {} }, "discovery: servers: expected a list"],
    [{ toolRules: [{ pattern: ["/(/"] }] }, 'the pattern "/(/" of rule 1 cannot be used'],
    [{ sources: [{ type: "unknown", path: "x" }] }, "sources.0.type"],
    [null, "discovery: the config"],
  ])("%j is refused", async (config, message) => {
    const error = await catchFailure(openEngine(config as Given));
    expect(error.kind.spec).toBe("CONFIGURATION_ERROR");
    expect(error.message).toContain(message);
  });
});

describe("a reload", () => {
  const provideSource = (name: string): Plugin =>
    localTools(name, { id: name }, [{ name: "ping", inputSchema: {}, run: () => textResult(name) }]);
  const enabled = async (engine: DiscoveryEngine): Promise<unknown> =>
    (await engine.listTools("own")).map(({ name }) => name);
  const rule = (on: boolean): Partial<DiscoveryConfig> => ({
    toolRules: [{ pattern: ["ping"], enabled: on }],
  });

  test("takes the config that is there now", async () => {
    let config = rule(true);
    const engine = await openEngine(() => config, [provideSource("own")]);
    const before = engine.gateway;
    expect(await enabled(engine)).toEqual(["ping"]);
    config = rule(false);
    await engine.reload();
    expect(await enabled(engine)).toEqual([]);
    expect(engine.getConfig().toolRules).toEqual(config.toolRules);
    expect(engine.gateway).not.toBe(before);
  });

  test("with a broken config leaves all as it was", async () => {
    let config: unknown = rule(true);
    const engine = await openEngine(() => config as DiscoveryConfig, [provideSource("own")]);
    const before = engine.gateway;
    for (config of [{ toolRules: [{ pattern: ["/(/"] }] }, { nonsense: 1 }]) {
      expect((await catchFailure(engine.reload())).kind.spec).toBe("CONFIGURATION_ERROR");
    }
    expect(engine.gateway).toBe(before);
    expect(engine.getConfig().toolRules).toEqual(rule(true).toolRules);
    expect(await engine.executeTool("own", "ping", {})).toMatchObject({ success: true });
    config = rule(false);
    await engine.reload();
    expect(await enabled(engine)).toEqual([]);
  });

  test("lets the calls on their way finish, and then closes what was there", async () => {
    let finish: (() => void) | undefined;
    let closed = 0;
    const slow = localTools("slow", { id: "slow" }, [
      {
        name: "wait",
        inputSchema: {},
        run: () =>
          new Promise((resolve) => {
            finish = () => resolve(textResult("done"));
          }),
      },
    ]);
    const watching = definePlugin({ name: "watching", setup: () => ({ close: () => void closed++ }) });
    const engine = await openEngine({}, [slow, watching()]);
    const call = engine.executeTool("slow", "wait", {});
    await until(() => finish !== undefined);
    await engine.reload();
    expect(closed).toBe(0);
    finish?.();
    expect(await call).toMatchObject({ success: true, result: "done" });
    await until(() => closed === 1);
    await engine.close();
    expect(closed).toBe(2);
  });

  test("of several at once, the last one remains", async () => {
    // The later it is asked for, the sooner it is there.
    const configs = [rule(true), rule(true), rule(true), rule(false)];
    let next = 0;
    const config = (): Promise<object> => {
      const place = next++;
      return new Promise((resolve) => {
        setTimeout(() => resolve(configs[place] ?? {}), 60 - place * 20);
      });
    };
    const engine = await openEngine(config, [provideSource("own")]);
    await Promise.all([engine.reload(), engine.reload(), engine.reload()]);
    expect(engine.getConfig().toolRules).toEqual(rule(false).toolRules);
    expect(await enabled(engine)).toEqual([]);
  });

  test("of a closed engine is refused, and what it had begun is closed", async () => {
    let opened = 0;
    let closed = 0;
    const counting = definePlugin({
      name: "counting",
      setup() {
        opened++;
        return { close: () => void closed++ };
      },
    });
    let asked = 0;
    let proceed: (() => void) | undefined;
    const config = (): Promise<object> =>
      new Promise((resolve) => {
        if (asked++ === 0) resolve({});
        else proceed = () => resolve({});
      });
    const engine = await openEngine(config, [counting()]);
    const reloading = catchFailure(engine.reload());
    await until(() => proceed !== undefined);
    const closing = engine.close();
    proceed?.();
    expect((await reloading).code).toBe("CLOSED");
    await closing;
    expect([opened, closed]).toEqual([2, 2]);
    expect((await catchFailure(engine.reload())).code).toBe("CLOSED");
    expect(opened).toBe(2);
  });
});
