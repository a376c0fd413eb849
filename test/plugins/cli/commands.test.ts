import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { boxFolder } from "./_box.ts";

let config: string;

beforeEach(async () => {
  await place();
  config = (await boxFolder()).config;
});

describe("execute", () => {
  const execute = (server: string, tool: string, ...rest: string[]) =>
    runMain(["execute", server, tool, "--config", config, ...rest]);

  test("prints the result as the specification shows it", async () => {
    const finished = await execute("demo", "add", "--args", `{"a":2,"b":3}`);
    expect(finished).toEqual({
      code: 0,
      stdout: "Executing: demo:add\n\n✓ Success\n\nResult:\n  5\n",
      stderr: "",
    });
  });

  test("indents every line, and names content that is no text block", async () => {
    const { stdout } = await execute("box", "picture");
    expect(stdout).toBe("Executing: box:picture\n\n✓ Success\n\nResult:\n  [image]\n  A cat.\n  A dog.\n");
  });

  test("prints {success, result} as JSON", async () => {
    const { code, stdout } = await execute("demo", "add", `--args={"a":2,"b":3}`, "--json");
    expect(JSON.parse(stdout)).toEqual({
      success: true,
      result: "5",
    });
    expect(stdout.trimEnd()).not.toContain("\n");
    expect(code).toBe(0);
  });

  const failures = [
    {
      what: "a failure of the tool itself",
      call: ["box", "broken"],
      code: 3,
      error: { code: "TOOL_EXECUTION_ERROR", message: "The printer\nis on fire." },
    },
    {
      what: "a tool that throws, without its words",
      call: ["box", "crash"],
      code: 3,
      error: { code: "TOOL_EXECUTION_ERROR", message: expect.not.stringContaining("sk-secret") },
    },
    {
      what: "wrong arguments",
      call: ["demo", "add", "--args", `{"a":2,"b":"three"}`],
      code: 1,
      error: { code: "TOOL_VALIDATION_ERROR", message: expect.stringContaining(`at "/b": expected number`) },
    },
    {
      what: "arguments that are no object",
      call: ["demo", "add", "--args", "[1]"],
      code: 1,
      error: { code: "TOOL_VALIDATION_ERROR", message: expect.stringContaining("an array") },
    },
    {
      what: "a key that reaches a prototype",
      call: ["demo", "add", "--args", `{"__proto__":{"a":1}}`],
      code: 1,
      error: { code: "TOOL_VALIDATION_ERROR", message: expect.stringContaining("__proto__") },
    },
    {
      what: "an unknown tool",
      call: ["demo", "subtract"],
      code: 2,
      error: {
        code: "TOOL_NOT_FOUND",
        message: expect.stringMatching(/^There is no tool "demo:subtract"\. .*The tools of "demo" are add, /),
      },
    },
    {
      what: "an unknown server",
      call: ["nowhere", "add"],
      code: 2,
      error: {
        code: "TOOL_NOT_FOUND",
        message: expect.stringContaining(`There is no server "nowhere". The servers are demo, box.`),
      },
    },
    {
      what: "a denial",
      call: ["box", "forbidden"],
      code: 4,
      error: { code: "TOOL_EXECUTION_ERROR", message: "It is forbidden." },
    },
  ];

  test.each(failures)("prints $what as JSON, with the exit code of the specification", async (expected) => {
    const [server = "", tool = "", ...rest] = expected.call;
    const { code, stdout, stderr } = await execute(server, tool, ...rest, "--json");
    expect(JSON.parse(stdout)).toEqual({ success: false, error: { ...expected.error, server, tool } });
    expect({ code, stderr }).toEqual({ code: expected.code, stderr: "" });
  });

  test.each(failures)("prints $what as a message, with the same exit code", async (expected) => {
    const [server = "", tool = "", ...rest] = expected.call;
    const { code, stdout, stderr } = await execute(server, tool, ...rest);
    expect(stdout).toMatch(
      new RegExp(
        `^Executing: ${server}:${tool}\n\n✗ Error\n\nCode: ${expected.error.code}\nMessage: [\\s\\S]+\nServer: ${server}\nTool: ${tool}\n$`,
      ),
    );
    expect(stdout).not.toContain("sk-secret");
    expect({ code, stderr }).toEqual({ code: expected.code, stderr: "" });
  });

  test("an exit code is not carried over to the next command", async () => {
    expect((await execute("box", "broken")).code).toBe(3);
    expect((await execute("demo", "add", "--args", `{"a":2,"b":3}`)).code).toBe(0);
    expect((await runMain(["tools", "--config", config])).code).toBe(0);
  });

  test("calls a meta-tool like any other", async () => {
    const { stdout } = await execute("anygpt", "search_tools", "--args", `{"query":"words"}`, "--json");
    expect(JSON.parse(stdout).result.results[0].tool).toBe("word_count");
  });

  test("tells what a meta-tool does not find, and not that the meta-tool is missing", async () => {
    const args = ["--args", '{"server":"demo","tool":"subtract"}', "--json"];
    const { code, stdout } = await execute("anygpt", "get_tool_details", ...args);
    expect(JSON.parse(stdout).error.message).toContain("demo:subtract");
    expect(code).toBe(2);
  });

  test.each(["{a", "", "{'a':1}"])("refuses --args that are not JSON: %j", async (args) => {
    const { code, stdout, stderr } = await execute("demo", "add", "--args", args);
    expect(stderr).toMatch(/^--args is not JSON: .* See --help\.\n$/);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });

  test.each([[["execute"]], [["execute", "demo"]]])("needs a server and a tool: %j", async (args) => {
    const { code, stderr } = await runMain(args);
    expect(stderr).toMatch(/^Missing required positional argument: (SERVER|TOOL)\. See --help\.\n$/);
    expect(code).toBe(1);
  });

  test("prints the stages to standard error with --trace, and only the result to standard output", async () => {
    const { stdout, stderr } = await execute("demo", "add", "--args", `{"a":2,"b":3}`, "--json", "--trace");
    expect(JSON.parse(stdout).success).toBe(true);
    expect(stderr).toMatch(/demo:add\n +resolve.*\n +policy.*\n +validate.*\n +execute.*\n +audit/);
  });

  test("--trace is no fault where the config has the plugin already", async () => {
    const folder = await temporaryFolder({
      "traced.json": `{ "plugins": ["toolpipe/plugins/demo", "toolpipe/plugins/trace"] }`,
    });
    const args = ["execute", "demo", "add", "--args", `{"a":2,"b":3}`, "--trace"];
    const { code, stderr } = await runMain([...args, "--config", join(folder, "traced.json")]);
    expect(stderr.match(/demo:add/g)).toHaveLength(1);
    expect(code).toBe(0);
  });
});

describe("config show", () => {
  test("prints the block of the specification first, then the file, the preset and the plugins", async () => {
    const { code, stdout } = await runMain(["config", "show", "--config", config]);
    expect(stdout).toMatch(
      /^MCP Discovery Configuration:\n\nStatus: Enabled\nCache: Enabled \(TTL: 3600s\)\n\nSources \(0\)\n\nTool Rules \(0\)\n\nServers: 2 configured, 2 connected\nTools: 7 total, 7 enabled\n\nFile: .*toolpipe\.config\.yaml\nPreset: anygpt\nPlugins: .*audit.*, demo, box.*\n$/,
    );
    expect(code).toBe(0);
  });

  test("prints JSON when asked", async () => {
    const { stdout } = await runMain(["config", "show", "--json", "--config", config, "--preset", "gateway"]);
    expect(JSON.parse(stdout)).toMatchObject({
      file: config,
      preset: "gateway",
      servers: { configured: 2, connected: 2 },
      tools: { total: 7, enabled: 7 },
    });
    expect(JSON.parse(stdout).plugins).toContain("demo");
  });
});

describe("config validate", () => {
  test("reports a valid config", async () => {
    const text = await runMain(["config", "validate", "--config", config]);
    expect(text).toEqual({ code: 0, stdout: `✓ Valid: ${config}\n`, stderr: "" });
    const json = await runMain(["config", "validate", "--json", "--config", config]);
    expect(JSON.parse(json.stdout)).toEqual({ valid: true, file: config, warnings: [] });
  });

  test.each([
    ["a config that cannot be read", "{", "close brace expected"],
    ["a wrong option", `{ "options": { "timeout": { "ms": 0 } } }`, "1 or more"],
    ["a plugin that is listed twice", `{ "plugins": ["toolpipe/plugins/audit"] }`, `"audit" is listed twice`],
    ["a plugin that needs a service", `{ "plugins": ["./needy.mjs"] }`, `needs the service "other"`],
    ["a plugin that cannot be set up", `{ "plugins": ["./broken.mjs"] }`, `"broken" could not be set up`],
  ])("tells %s in one line, with exit code 2", async (_name, text, reason) => {
    const folder = await temporaryFolder({
      "bad.json": text,
      "needy.mjs": `export const needy = { name: "needy", uses: ["other"], setup() {} };`,
      "broken.mjs": `export const broken = { name: "broken", setup() { throw new Error("no luck"); } };`,
    });
    const finished = await runMain(["config", "validate", "--config", join(folder, "bad.json")]);
    expect(finished.stderr).toContain(reason);
    expect(finished.stderr).toMatch(/^[^\n]+\n$/);
    expect(finished).toMatchObject({ code: 2, stdout: "" });
  });
});

test("demo prints every stage of every call, the progress of one, and where failures end", async () => {
  const { code, stdout, stderr } = await runMain(["demo"]);
  for (const stage of ["resolve", "policy", "validate", "execute", "audit"]) {
    expect(stdout).toMatch(new RegExp(`^ +${stage} +[\\d.]+ ms`, "m"));
  }
  expect(stdout).toMatch(/^ {2}execute .* ✓ answered\n.*\n {2}→ 5$/m);
  expect(stdout).toContain("… 3 of 3: 0");
  expect(stdout).toMatch(/^ {2}validate .*✗ INVALID_ARGUMENTS/m);
  expect(stdout).toMatch(/^ {2}resolve .*✗ TOOL_NOT_FOUND/m);
  expect(stdout).toMatch(/^ {4}demo:word_count\n {6}resolve/m);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});
