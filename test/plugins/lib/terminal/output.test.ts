import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import type { Command, CommandTable } from "../../../../core/services/command.ts";
import { toolpipeProgram } from "../../../../plugins/cli/mod.ts";
import {
  formatCount,
  formatPath,
  toTerminalLine,
  toTerminalLines,
} from "../../../../plugins/lib/terminal/output.ts";
import { dead, faulty, place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

const undo: (() => unknown)[] = [];
afterEach(() => {
  for (const step of undo.splice(0)) step();
});

/** Makes a stream of this process a terminal, until the test is over. */
function terminal(name: "stdout" | "stderr"): void {
  const before = Object.getOwnPropertyDescriptor(process[name], "isTTY");
  Object.defineProperty(process[name], "isTTY", { value: true, configurable: true });
  undo.push(() =>
    before
      ? Object.defineProperty(process[name], "isTTY", before)
      : Reflect.deleteProperty(process[name], "isTTY"),
  );
}

/** Goes to a project with a server that works and one that does not, in an environment that allows colors. */
async function twoServers(): Promise<void> {
  await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty(), gone: dead } } } });
  for (const name of ["NO_COLOR", "TERM"]) delete process.env[name];
}

describe("colors", () => {
  test("are used on a terminal only", async () => {
    await twoServers();
    for (const args of [["list"], ["execute", "one", "fail"], ["refresh"], ["config", "show"], ["--help"]])
      expect((await runMain(args)).stdout).not.toContain("\u001b");
    terminal("stdout");
    const { stdout } = await runMain(["list"]);
    expect(stdout).toContain("\u001b[32m✓\u001b[39m one");
    expect(stdout).toContain("\u001b[31m✗\u001b[39m gone");
    expect((await runMain(["execute", "one", "fail"])).stdout).toContain("\u001b[31m✗\u001b[39m Error");
  });

  test.each([
    ["NO_COLOR", "1"],
    ["NO_COLOR", "yes"],
    ["TERM", "dumb"],
  ])("are omitted where %s is %s", async (name, value) => {
    await twoServers();
    terminal("stdout");
    process.env[name] = value;
    for (const args of [["list"], ["execute", "one", "fail"], ["--help"]])
      expect((await runMain(args)).stdout).not.toContain("\u001b");
  });

  test("are never part of JSON, nor of what a tool says", async () => {
    await twoServers();
    terminal("stdout");
    expect((await runMain(["list", "--json"])).stdout).not.toContain("\u001b");
    const { stdout } = await runMain(["execute", "one", "echo", "--args", '{"text":"✓ done\\n✗ not"}']);
    expect(stdout).toContain("Result:\n  ✓ done\n  ✗ not\n");
  });
});

describe("a user who waits at a terminal", () => {
  const slow = (ms: number) => `import { localTools } from "toolpipe";
export const slow = localTools("slow", { id: "slow" }, [
  { name: "it", inputSchema: { type: "object" }, run: () => new Promise((done) => setTimeout(done, ${ms}, { content: [] })) },
]);`;

  test("is told of a tool that takes its time, and no more once it is done", async () => {
    await place({ project: { "slow.mjs": slow(500), "toolpipe.config.json": { plugins: ["./slow.mjs"] } } });
    const quiet = await runMain(["execute", "slow", "it"]);
    terminal("stderr");
    const { stdout, stderr } = await runMain(["execute", "slow", "it"]);
    expect(stderr).toMatch(/Executing slow:it …\r.{0,6}$/);
    expect(stdout).toBe(quiet.stdout);
    expect(quiet.stderr).toBe("");
  });

  test("is told of a config that takes its time", async () => {
    await place({
      project: {
        "toolpipe.config.mjs":
          "await new Promise((done) => setTimeout(done, 500)); export default { mcpServers: {} };",
      },
    });
    terminal("stderr");
    expect((await runMain(["list"])).stderr).toContain("Reading the config …");
  });

  test("is told of a server that takes its time", async () => {
    const silent = { command: "node", args: ["-e", "setInterval(() => {}, 1000)"], startTimeoutMs: 600 };
    await place({ project: { "toolpipe.config.json": { mcpServers: { silent } } } });
    terminal("stderr");
    for (const command of [
      ["list"],
      ["tools"],
      ["search", "x"],
      ["config", "show"],
      ["refresh"],
      ["why", "silent"],
    ])
      expect((await runMain(command)).stderr).toContain('Asking "silent" for tools …');
  });
});

test("every command prints JSON when asked, but for those that print something of their own", async () => {
  const own = ["demo", "start", "serve", "completion", "__complete", "playground"];
  const without: string[] = [];
  for (const [name, command] of await leaves(toolpipeProgram.commands)) {
    if (!Object.hasOwn(command.args ?? {}, "json")) without.push(name);
  }
  expect(own).toEqual(expect.arrayContaining(without));
});

async function leaves(commands: CommandTable, path: readonly string[] = []): Promise<[string, Command][]> {
  const found = Object.entries(commands).map(async ([name, entry]): Promise<[string, Command][]> => {
    const words = [...path, name];
    if ("commands" in entry) return leaves(entry.commands, words);
    const loaded = await entry.load();
    return [[words.join(" "), "command" in loaded ? loaded.command : loaded]];
  });
  return (await Promise.all(found)).flat();
}

describe("an untrusted string", () => {
  test("is one line without control or invisible characters", () => {
    expect(toTerminalLine("\u001b[1mbold\u001b[0m \u202eturned\u200b\n  and\tbroken\u0000 ")).toBe(
      "bold turned and broken",
    );
    expect(toTerminalLine("\u001b]8;;http://evil\u001b\\link\u001b]8;;\u001b\\")).toBe("link");
  });

  test("keeps its lines and brackets where lines are wanted", () => {
    expect(toTerminalLines("a\r\n[1] b\n\tc\u001b[2J")).toBe("a\n[1] b\n\tc");
  });

  test("never has a control character but tab and newline", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 40 }), (text) => {
        expect(toTerminalLines(text)).not.toMatch(/[^\P{Cc}\n\t]/u);
        expect(toTerminalLine(text)).not.toMatch(/\p{C}/u);
      }),
    );
  });
});

test("a path in the home folder begins with a tilde", () => {
  expect(formatPath("/home/me/.cursor/mcp.json", "/home/me")).toBe("~/.cursor/mcp.json");
  expect(formatPath("/home/me", "/home/me")).toBe("/home/me");
  expect(formatPath("/home/mean/x", "/home/me")).toBe("/home/mean/x");
});

test("uses the singular for a count of one", () => {
  expect([0, 1, 2].map((count) => formatCount(count, "tool"))).toEqual(["0 tools", "1 tool", "2 tools"]);
});
