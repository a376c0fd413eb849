import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, place, real, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

/** Runs a command and returns its lines. */
async function readLines(...args: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runMain(["why", ...args]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.trimEnd().split("\n");
}

describe("why", () => {
  test("tells of a server where it comes from, how it stands and when its tools were read", async () => {
    const { project } = await place({
      project: { "toolpipe.config.json": { mcpServers: { one: faulty("onebadtool") } } },
    });
    const file = join(project, "toolpipe.config.json");
    expect(await readLines("one")).toEqual([
      `The server "one" comes from the config (${file}) and is reached by the command "node".`,
      "Its status is connected: It is connected.",
      expect.stringMatching(/^Its tools were read at \d{4}-.*Z: 99 tools, 0 of them disabled\.$/),
      'The tool "bad" is left out: its inputSchema is not an object.',
    ]);
    expect((await readLines("one"))[1]).toBe("Its status is disconnected: It connects when it is used.");
  });

  test("tells of a dead server what it died of, and that its tools are not known", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { gone: dead } } } });
    const lines = await readLines("gone:tool");
    expect(lines[1]).toBe(
      'Its status is error: The command "to-be-found" could not be started: it was not found.',
    );
    expect(lines.slice(2)).toEqual([
      "Its tools were never read.",
      'Whether "gone" has a tool "tool" is not known: its tools were never read.',
    ]);
  });

  test("tells of a tool which rule decides, once", async () => {
    const { project } = await place();
    await write(project, {
      "toolpipe.config.json": {
        mcpServers: { memory: real.memory(join(project, "memory.json")) },
        toolRules: [{ pattern: ["delete_*"], enabled: false, tags: ["dangerous"] }],
      },
    });
    const disabled = await readLines("memory:delete_entities");
    expect(disabled[2]).toMatch(/: 9 tools, 3 of them disabled\.$/);
    expect(disabled.slice(3)).toEqual([
      'The rules leave "memory:delete_entities" disabled. Rule 1 (delete_*) disables it. They tag it dangerous.',
    ]);
    expect((await readLines("memory:read_graph")).slice(3)).toEqual([
      'The rules leave "memory:read_graph" enabled. No rule disables it.',
    ]);
  });

  test("tells of a tool that the definition of its server forbids", async () => {
    await place({
      project: { "toolpipe.config.json": { mcpServers: { one: { ...faulty(), disabledTools: ["echo"] } } } },
    });
    expect((await readLines("one:echo")).slice(3)).toEqual([
      expect.stringMatching(
        /^The tool "one:echo" is disabled\. It is not allowed by the definition of its server in .*$/,
      ),
      'The rules leave "one:echo" enabled. No rule disables it.',
    ]);
  });

  test("does not say of a tool that is disabled without a reason that it is enabled", async () => {
    await place({
      project: {
        "toolpipe.config.json": { plugins: ["./silent.mjs"], mcpServers: { one: faulty() } },
        "silent.mjs": `export const silent = { name: "silent", setup: () => ({ "tool:discover"(tool) { tool.enabled = false; } }) };`,
      },
    });
    expect((await readLines("one:echo")).slice(3)).toEqual([
      'The tool "one:echo" is disabled.',
      'The rules leave "one:echo" enabled. No rule disables it.',
    ]);
  });

  test("tells of a guarded tool which risk it has, and what a call needs", async () => {
    await place({
      project: { "toolpipe.config.json": { preset: "gateway", mcpServers: { one: faulty() } } },
    });
    expect((await readLines("one:process")).at(-1)).toBe(
      'Its risk is high. A call needs an idempotency key, the scope "one:write".',
    );
  });

  test("tells of a tool that could not be taken in", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty("onebadtool") } } } });
    expect((await readLines("one:bad")).slice(3)).toEqual([
      'The tool "bad" is left out: its inputSchema is not an object.',
    ]);
    expect((await readLines("one:tool-1")).slice(3)).toEqual([
      'The rules leave "one:tool-1" enabled. No rule disables it.',
    ]);
  });

  test("names the tool or server that was probably meant, disabled or not, with exit code 2", async () => {
    await place({
      project: {
        "toolpipe.config.json": {
          mcpServers: { one: faulty() },
          toolRules: [{ pattern: ["echo"], enabled: false }],
        },
      },
    });
    expect(await runMain(["why", "one:ehco"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'The server "one" has no tool "ehco"; did you mean "echo"?\n',
    });
    expect(await runMain(["why", "oen"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'There is no server "oen"; did you mean "one"? The servers are one.\n',
    });
  });

  test("tells of a server of a project that it needs approval, and its tool with it", async () => {
    const { project } = await place({ project: { ".mcp.json": { mcpServers: { one: faulty() } } } });
    const lines = await readLines("one:echo");
    expect(lines[0]).toBe(
      `The server "one" comes from claude-code (${join(project, ".mcp.json")}) and is reached by the command "node".`,
    );
    expect(lines[1]).toMatch(/^Its status is needs-approval: .*Approve it with: toolpipe approve one$/);
    expect(lines[3]).toBe('Whether "one" has a tool "echo" is not known: its tools were never read.');
  });

  test("tells of a server that is part of the gateway", async () => {
    await place({ project: { "toolpipe.config.json": { plugins: ["toolpipe/plugins/demo"] } } });
    expect(await readLines("demo:add")).toEqual([
      'The server "demo" is part of the gateway itself.',
      'The rules leave "demo:add" enabled. No rule disables it.',
    ]);
  });

  test("prints the same as JSON", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty() } } } });
    await runMain(["why", "one:echo"]);
    const lines = await readLines("one:echo");
    const { stdout } = await runMain(["why", "one:echo", "--json"]);
    expect(JSON.parse(stdout)).toEqual({ name: "one:echo", because: lines });
  });
});
