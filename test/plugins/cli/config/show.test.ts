import { expect, test } from "vitest";
import { dead, faulty, place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

test("config show reports that all options have their defaults", async () => {
  await place();
  const { code, stdout, stderr } = await runMain(["config", "show"]);
  expect(stdout).toMatch(
    /^MCP Discovery Configuration:\n\nStatus: Enabled\nCache: Enabled \(TTL: 3600s\)\n\nSources \(0\)\n\nTool Rules \(0\)\n\nServers: 0 configured, 0 connected\nTools: 0 total, 0 enabled\n\nFile: none \(the defaults apply\)\nPreset: anygpt\nPlugins: .*\n$/,
  );
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("config show reports a disabled cache, rules for one server, and broken files", async () => {
  await place({
    home: { "broken.json": "{\n  oops" },
    project: {
      "toolpipe.config.json": {
        cache: { enabled: false },
        mcpServers: { gone: dead, off: { ...faulty(), disabled: true } },
        sources: [{ type: "cursor", path: "~/broken.json" }],
        toolRules: [
          { server: "gone", pattern: ["a*", "!ab"], enabled: false },
          { pattern: ["b"] },
          { pattern: ["c"], tags: ["x", "y"] },
        ],
      },
    },
  });
  const { stdout } = await runMain(["config", "show"]);
  expect(stdout).toContain("\nCache: Disabled\n");
  expect(stdout).toMatch(/\nSources \(1\):\n {2}✗ cursor \(~\/broken\.json:2:3\) - .*\n/);
  expect(stdout).toContain(
    "\nTool Rules (3):\n  1. gone: a*, !ab → disabled\n  2. b → nothing\n  3. c → tags: [x, y]\n",
  );
  expect(stdout).toContain("\nServers: 2 configured, 0 connected\n");
});

test("config show reports that a cached server connects on use", async () => {
  await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty() } } } });
  expect((await runMain(["config", "show"])).stdout).toContain("Servers: 1 configured, 1 connected\n");
  const { stdout } = await runMain(["config", "show"]);
  expect(stdout).toContain("Servers: 1 configured, 0 connected\n");
  expect(stdout).toContain("\n\nAt rest: 1 server, connected when used\nFile: ");
});

test("config show reports a disabled discovery, without servers", async () => {
  const server = JSON.stringify({ name: "one", connection: { type: "stdio", ...faulty() } });
  await place({
    project: {
      "anygpt.config.ts": `export default { discovery: { enabled: false, servers: [${server}] } };`,
    },
  });
  const { stdout } = await runMain(["mcp", "config", "show"], "anygpt");
  expect(stdout).toContain("\nStatus: Disabled\n");
  expect(stdout).toContain("\nServers: 0 configured, 0 connected\n");
  expect(JSON.parse((await runMain(["config", "show", "--json"])).stdout)).toMatchObject({ enabled: false });
});

test("config validate --json prints the errors", async () => {
  await place({ project: { "toolpipe.config.json": { preset: "anygtp" } } });
  const { code, stdout, stderr } = await runMain(["config", "validate", "--json"]);
  expect(JSON.parse(stdout)).toEqual({
    valid: false,
    error: expect.stringContaining('did you mean "anygpt"?'),
  });
  expect({ code, stderr }).toEqual({ code: 2, stderr: "" });
  expect(await runMain(["config", "validate", "--json", "--nonsense"])).toMatchObject({
    code: 1,
    stdout: "",
  });
});

test("config show and list name rules that do not work as they are written, with what would work", async () => {
  const toolRules = [
    { pattern: ["*echo*"], enabled: true },
    { pattern: ["/\\bslow\\b/"], enabled: true },
    { server: "one", pattern: ["ehco"], tags: ["x"] },
  ];
  await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty() }, toolRules } } });
  const warning = '! Rule 3 (ehco): It matches no tool. Write "echo" instead of "ehco"?\n';
  expect((await runMain(["config", "show"])).stdout).toContain(warning);
  expect((await runMain(["list"])).stderr).toContain(warning);
  expect(await runMain(["config", "validate"])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining(warning),
  });
  expect(await runMain(["config", "validate", "--strict"])).toMatchObject({ code: 2 });
});
