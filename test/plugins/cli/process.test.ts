import { join } from "node:path";
import { beforeEach, expect, test, vi } from "vitest";
import { version } from "../../../core/mod.ts";
import { dead, faulty, place, write } from "../../support/place.ts";
import { runCli } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { boxFolder } from "./_box.ts";

// Starting a process takes its time where many things run at once.
vi.setConfig({ testTimeout: 60_000 });

let project: string;

// The processes inherit it.
beforeEach(async () => {
  ({ project } = await place());
});

const five = ["demo", "add", "--args", `{"a":2,"b":3}`];

test("toolpipe finds the config of the current folder and executes a tool", async () => {
  const { cwd } = await boxFolder();
  const [human, json] = await Promise.all([
    runCli(["execute", ...five], { cwd }),
    runCli(["execute", ...five, "--json"], { cwd }),
  ]);
  expect(human).toEqual({
    code: 0,
    stdout: "Executing: demo:add\n\n✓ Success\n\nResult:\n  5\n",
    stderr: "",
  });
  expect(JSON.parse(json.stdout)).toEqual({ success: true, result: "5" });
});

test("anygpt mcp gives the same", async () => {
  const { cwd } = await boxFolder();
  const commands = [
    ["execute", ...five],
    ["tools", "--json"],
    ["tools", "--jsno"],
  ];
  const pairs = commands.map((args) =>
    Promise.all([runCli(args, { cwd }), runCli(["mcp", ...args], { cwd, bin: "anygpt" })]),
  );
  for (const [own, specified] of await Promise.all(pairs)) expect(specified).toEqual(own);
});

test("exit codes are those of the specification", async () => {
  const { cwd } = await boxFolder();
  const cases: [code: number, args: string[]][] = [
    [0, ["tools"]],
    [1, ["execute", "demo", "add", "--args", "{}"]],
    [1, ["tools", "--jsno"]],
    [2, ["execute", "demo", "nothing"]],
    [2, ["tools", "--config", "missing.json"]],
    [3, ["execute", "box", "broken"]],
    [3, ["execute", "box", "crash"]],
    [4, ["execute", "box", "forbidden"]],
  ];
  const finished = await Promise.all(cases.map(([, args]) => runCli(args, { cwd })));
  expect(finished.map(({ code }) => code)).toEqual(cases.map(([code]) => code));
});

test("failures are one line without color, and no stack", async () => {
  const cwd = await temporaryFolder({ "toolpipe.config.ts": "export default {\n  preset: = 5\n};" });
  const [config, command] = await Promise.all([runCli(["tools"], { cwd }), runCli(["nonsense"], { cwd })]);
  expect(config.stderr).toMatch(/^\/[^\n]*toolpipe\.config\.ts: [^\n]*Unexpected token[^\n]*:2\)\n$/);
  expect(command.stderr).toMatch(
    /^There is no command "nonsense"\. [^\n]*Unexpected token[^\n]* See --help\.\n$/,
  );
  expect([config.code, command.code]).toEqual([2, 1]);
});

test("demo, --help and --version need no config, and without arguments a client is served", async () => {
  const cwd = await temporaryFolder();
  const [demo, help, printed, bare, config] = await Promise.all([
    runCli(["demo"], { cwd }),
    runCli(["--help"], { cwd }),
    runCli(["--version"], { cwd }),
    runCli([], { cwd }),
    runCli(["config", "validate"], { cwd }),
  ]);
  expect(demo).toMatchObject({ code: 0, stderr: "" });
  for (const stage of ["resolve", "policy", "validate", "execute", "audit"]) {
    expect(demo.stdout).toMatch(new RegExp(`^ +${stage} +[\\d.]+ ms`, "m"));
  }
  expect(help).toMatchObject({ code: 0, stderr: "" });
  expect(help.stdout).toContain("USAGE toolpipe");
  expect(help.stdout).not.toContain("\u001b");
  expect(printed).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
  // Its input has ended, as that of a client that has gone.
  expect(bare).toEqual({ code: 0, stdout: "", stderr: "" });
  expect(config).toEqual({ code: 0, stdout: "✓ Valid: no config file, the defaults apply\n", stderr: "" });
});

test.each(["ts", "mjs"])(
  "a config in .%s and what it imports work in a folder without node_modules",
  async (ending) => {
    const cwd = await temporaryFolder({
      [`toolpipe.config.${ending}`]: `
      import { defineConfig } from "toolpipe";
      import { plugins } from "./plugins.${ending}";
      export default defineConfig({ preset: "passthrough", plugins });
    `,
      [`plugins.${ending}`]: `import { demo } from "toolpipe/plugins/demo"; export const plugins = [demo()];`,
    });
    const { code, stdout, stderr } = await runCli(["config", "show", "--json"], { cwd });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(JSON.parse(stdout)).toMatchObject({
      file: join(cwd, `toolpipe.config.${ending}`),
      preset: "passthrough",
      tools: { total: 3 },
    });
  },
);

test("succeeds when the reader closes the pipe early", async () => {
  const cwd = await temporaryFolder();
  const { code, stderr } = await runCli(["demo"], { cwd, closeStdout: true });
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
});

test("servers are listed, searched and called, and a pipe sees nothing of the waiting", async () => {
  const slow = { command: "node", args: ["-e", "setInterval(() => {}, 1000)"], startTimeoutMs: 500 };
  await write(project, { "toolpipe.config.json": { mcpServers: { one: faulty(), gone: dead, slow } } });
  const list = await runCli(["list"], { cwd: project });
  expect(list).toMatchObject({ code: 0, stderr: "" });
  expect(list.stdout).toMatch(/^MCP Servers \(3 configured\):\n\n✓ one \(\d+ tools\)\n/);
  expect(list.stdout).toMatch(/✗ gone \(0 tools\)\n {2}Status: Disconnected\n/);
  expect(list.stdout).toMatch(/✗ slow \(0 tools\)\n {2}Status: Disconnected\n.*not ready within 500 ms/);
  const [search, execute, gone] = await Promise.all([
    runCli(["mcp", "search", "echo", "--json"], { cwd: project, bin: "anygpt" }),
    runCli(["execute", "one", "echo", "--args", '{"text":"hello"}'], { cwd: project }),
    runCli(["tools", "gone"], { cwd: project }),
  ]);
  expect(JSON.parse(search.stdout).results[0]).toMatchObject({ server: "one", tool: "echo" });
  expect(execute.stdout).toContain("Result:\n  hello\n");
  expect([search, execute, gone].map(({ code }) => code)).toEqual([0, 0, 3]);
});

test("an approval of one process holds for the next", async () => {
  await write(project, { ".mcp.json": { mcpServers: { docs: faulty() } } });
  const execute = ["execute", "docs", "echo", "--args", '{"text":"hello"}'];
  expect((await runCli(execute, { cwd: project })).code).toBe(4);
  expect((await runCli(["approve", "docs"], { cwd: project })).code).toBe(0);
  expect((await runCli(execute, { cwd: project })).stdout).toContain("Result:\n  hello\n");
});
