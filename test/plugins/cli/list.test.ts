import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, place, real, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

const config = (mcpServers: object, more: object = {}) => ({
  project: { "toolpipe.config.json": { mcpServers, ...more } },
});

const faultyFile = JSON.stringify((faulty()["args"] as string[])[0]);

describe("list", () => {
  test("prints servers as the specification shows them, and a dead one with why it is", async () => {
    await place(
      config({ one: { ...faulty(), description: "Says things" }, gone: dead, two: faulty("onebadtool") }),
    );
    const { stdout, ...rest } = await runMain(["list"]);
    expect({ ...rest, stdout: stdout.replace(/(?<=one \()\d+/, "some") }).toEqual({
      code: 0,
      stdout: `MCP Servers (3 configured):

✓ one (some tools)
  Says things
  Status: Connected

✗ gone (0 tools)
  Status: Disconnected
  The command "to-be-found" could not be started: it was not found.

✓ two (99 tools)
  Faulty
  Status: Connected
`,
      stderr: "",
    });
  });

  test("knows the second time what it was told the first, and asks again only who did not answer", async () => {
    await place(config({ one: faulty(), gone: dead }));
    await runMain(["list"]);
    const { stdout } = await runMain(["list"]);
    expect(stdout).toMatch(
      /✓ one \([1-9]\d* tools\)\n {2}Faulty\n {2}Status: Disconnected\n {2}It connects when it is used\.\n/,
    );
    expect(stdout).toContain("✗ gone (0 tools)\n  Status: Disconnected\n");
  });

  test("asks a server that is new in a config whose others are known", async () => {
    const { project } = await place(config({ one: faulty() }));
    await runMain(["list"]);
    await write(project, { "toolpipe.config.json": { mcpServers: { one: faulty(), two: faulty() } } });
    expect((await runMain(["list"])).stdout).toMatch(/✓ two \([1-9]\d* tools\)\n/);
  });

  test("prints JSON in the shape of the specification, and why each server has its status", async () => {
    await place(config({ one: { ...faulty(), description: "Says things" }, gone: dead }));
    const { code, stdout } = await runMain(["list", "--json"]);
    expect(JSON.parse(stdout)).toEqual({
      servers: [
        {
          name: "one",
          description: "Says things",
          toolCount: expect.any(Number),
          enabledCount: expect.any(Number),
          status: "connected",
          reason: expect.any(String),
        },
        {
          name: "gone",
          description: "",
          toolCount: 0,
          enabledCount: 0,
          status: "disconnected",
          reason: expect.stringContaining("it was not found"),
        },
      ],
    });
    expect(code).toBe(0);
  });

  test("--tools counts what is enabled, and --status gives the reason of every server", async () => {
    const { project } = await place();
    await write(project, {
      "toolpipe.config.json": {
        mcpServers: { memory: real.memory(join(project, "memory.json")) },
        toolRules: [{ pattern: ["delete_*"], enabled: false }],
      },
    });
    const { stdout } = await runMain(["list", "--tools", "--status"]);
    expect(stdout).toContain("✓ memory (9 tools, 6 enabled)\n");
    expect(stdout).toMatch(/ {2}Status: Connected\n {2}\S.*\n/);
    expect((await runMain(["list"])).stdout).toContain("✓ memory (9 tools)\n");
  });

  test("--status connects to all at once, for 5 s each, and marks what fails with the remembered tools", async () => {
    const { project } = await place();
    const one = { command: "node", args: [join(project, "server.mjs")] };
    const mcpServers = { one, hang: faulty("hanginit"), hang2: faulty("hanginit", "2") };
    await write(project, {
      "server.mjs": `import ${faultyFile};`,
      "toolpipe.config.json": { mcpServers: { one } },
    });
    const [known] = /one \([1-9]\d* tools\)/.exec((await runMain(["list"])).stdout) ?? [];
    await write(project, { "server.mjs": "process.exit(1)", "toolpipe.config.json": { mcpServers } });
    const began = performance.now();
    const { stdout } = await runMain(["list", "--status"]);
    expect(performance.now() - began).toBeLessThan(9_500);
    expect(stdout).toContain(`✗ ${known}`);
    expect(stdout.match(/✗ hang2? \(0 tools\)\n {2}Status: Disconnected\n.*within 5000 ms/g)).toHaveLength(2);
  }, 30_000);

  test("a server that failed is not listed as one that connects when it is used", async () => {
    const { project } = await place();
    await write(project, {
      "server.mjs": `import ${faultyFile};`,
      "toolpipe.config.json": {
        mcpServers: { one: { command: "node", args: [join(project, "server.mjs")] } },
      },
    });
    await runMain(["list"]);
    await write(project, { "server.mjs": "process.exit(1)" });
    expect((await runMain(["execute", "one", "echo", "--args", '{"text":"a"}'])).code).not.toBe(0);
    expect((await runMain(["config", "show"])).stdout).toContain("Servers: 1 configured, 0 connected\n");
    expect((await runMain(["list"])).stdout).toMatch(
      /✗ one \([1-9]\d* tools\)\n.*\n {2}Status: Disconnected\n {2}(?!It connects)/,
    );
    await write(project, { "server.mjs": `import ${faultyFile};` });
    expect((await runMain(["list"])).stdout).toMatch(/✓ one .*\n.*\n {2}Status: Connected\n/);
    expect((await runMain(["list"])).stdout).toContain("It connects when it is used.");
  });

  test("a disabled server is not listed as working", async () => {
    await place(config({ off: { ...faulty(), disabled: true } }));
    const { stdout } = await runMain(["list"]);
    expect(stdout).toMatch(/✗ off \(0 tools\)\n {2}Status: Disconnected\n {2}It is switched off in .*\n/);
  });

  test("a server whose name the gateway needs is listed with what to do", async () => {
    await place(config({ anygpt: faulty() }));
    const { stdout } = await runMain(["list"]);
    expect(stdout).toMatch(/✗ anygpt \(0 tools\)\n {2}Status: Error\n.*Give the server another name\.\n/);
    expect((await runMain(["tools"])).stdout).not.toContain("search_tools");
    expect((await runMain(["why", "anygpt"])).stdout).toContain("Give the server another name.");
  });

  test("a description cannot steer the terminal", async () => {
    await place(
      config({ one: { ...faulty(), description: "\u001b[2Jred\u001b]0;title\u0007 line\nbreak" } }),
    );
    expect((await runMain(["list"])).stdout).toMatch(/✓ one \(\d+ tools\)\n {2}red line break\n {2}Status/);
  });

  test("without servers, says where to put one", async () => {
    await place();
    const none = await runMain(["list"]);
    expect(none).toMatchObject({ code: 0, stderr: "" });
    expect(none.stdout).toMatch(/^There are no servers\. .*mcpServers.*toolpipe config sources --all.*\n$/);
    expect((await runMain(["list", "--json"])).stdout).toBe('{"servers":[]}\n');
  });

  test("without servers in a config, names the config", async () => {
    const { project } = await place(config({}));
    const { stdout } = await runMain(["list"]);
    expect(stdout).toContain(`There are no servers in ${join(project, "toolpipe.config.json")}.`);
  });

  test("the servers of plugins are connected, as part of the gateway", async () => {
    await place({ project: { "toolpipe.config.json": { plugins: ["toolpipe/plugins/demo"] } } });
    const { stdout } = await runMain(["list", "--status"]);
    expect(stdout).toContain("✓ demo (3 tools)\n");
    expect(stdout).toContain("  Status: Connected\n  It is part of the gateway.\n");
  });

  test("a server whose definition cannot be used is told of", async () => {
    await place({
      home: { ".cursor/mcp.json": { mcpServers: { one: { ...faulty(), disabled: "false" } } } },
    });
    const { code, stderr } = await runMain(["list"]);
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /^! In [^\n]*, the server "one" cannot be used: its "disabled" is neither true nor false\.\n$/,
    );
  });

  test("a config that is switched off is told of, not one without servers", async () => {
    const { project } = await place({
      project: { "anygpt.config.ts": "export default { discovery: { enabled: false } };" },
    });
    const { stdout } = await runMain(["list"]);
    expect(stdout).toBe(
      `Discovery is switched off: "enabled" is false in ${join(project, "anygpt.config.ts")}.\n`,
    );
  });

  test("a file that cannot be read is told of, in one line", async () => {
    await place({
      home: {
        ".cursor/mcp.json": { mcpServers: { one: faulty() } },
        ".codeium/windsurf/mcp_config.json": "{\n  oops",
      },
    });
    const { code, stdout, stderr } = await runMain(["list"]);
    expect(stdout).toMatch(/✓ one \([1-9]\d* tools\)\n/);
    expect(stderr).toMatch(
      /^! The servers of windsurf cannot be read\. [^\n]*mcp_config\.json:2:3: [^\n]*\n$/,
    );
    expect(code).toBe(0);
  });
});
