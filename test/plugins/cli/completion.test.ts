import { execFile, execFileSync } from "node:child_process";
import { chmod, readFile, utimes } from "node:fs/promises";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { beforeEach, describe, expect, test, vi } from "vitest";
import { faulty, marking, place, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { toolpipeCommand } from "../../support/start-serve.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

vi.setConfig({ testTimeout: 60_000 });

let project: string;

beforeEach(async () => {
  ({ project } = await place());
});

/** The words that are offered for what was typed after the name of the program. */
async function offered(...words: string[]): Promise<string[]> {
  const { code, stdout, stderr } = await runMain(["__complete", "--", "toolpipe", ...words]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  return stdout.split("\n").filter(Boolean);
}

describe("completions", () => {
  test("are commands, and the commands of commands", async () => {
    const commands = await offered("");
    for (const name of ["list", "search", "inspect", "execute", "completion"])
      expect(commands).toContain(name);
    expect(commands.filter((name) => name.startsWith("_"))).toEqual([]);
    expect(await offered("exe")).toEqual(["execute"]);
    expect(await offered("config", "")).toEqual(["show", "validate", "options", "sources", "reload"]);
    expect(await offered("config", "s")).toEqual(["show", "sources"]);
    expect(await offered("completion", "")).toEqual(["bash", "zsh", "fish", "powershell"]);
    expect(await offered("nonsense", "")).toEqual([]);
    expect(await offered("constructor", "")).toEqual([]);
  });

  test("are those of anygpt where that is typed, wherever it is installed", async () => {
    const { stdout } = await runMain(["__complete", "--", "/usr/bin/anygpt", "mcp", "s"]);
    expect(stdout).toBe("serve\nsearch\nstate\n");
  });

  test("are options that were not given yet, and the presets", async () => {
    expect(await offered("search", "--")).toEqual([
      "--server",
      "--limit",
      "--json",
      "--config",
      "--preset",
      "--trace",
    ]);
    expect(await offered("search", "x", "--json", "--limit", "3", "--")).toEqual([
      "--server",
      "--config",
      "--preset",
      "--trace",
    ]);
    expect(await offered("login", "--no")).toEqual(["--no-browser"]);
    expect(await offered("list", "--preset", "g")).toEqual(["gateway"]);
    expect(await offered("list", "--preset=g")).toEqual(["--preset=gateway"]);
    // As bash splits it.
    expect(await offered("list", "--preset", "=", "g")).toEqual(["gateway"]);
    expect(await offered("list", "--preset", "=")).toEqual(["anygpt", "gateway", "passthrough"]);
  });

  test("are the servers and enabled tools that commands came to know, and no server is started", async () => {
    const { definition, marks } = await marking(project);
    await write(project, {
      "toolpipe.config.json": {
        mcpServers: { one: definition, two: faulty("onebadtool") },
        toolRules: [{ pattern: ["exit"], enabled: false }],
      },
    });
    expect(await offered("execute", "")).toEqual([]);
    await runMain(["list"]);
    expect(await readFile(marks, "utf8")).toBe("started\n");
    expect(await offered("execute", "")).toEqual(["one", "two"]);
    expect(await offered("execute", "o")).toEqual(["one"]);
    expect(await offered("execute", "--json", "one", "e")).toEqual(["echo", "error", "environment"]);
    expect(await offered("execute", "one", "--args", "{}", "ech")).toEqual(["echo"]);
    expect(await offered("inspect", "one", "ec")).toEqual(["echo"]);
    expect(await offered("search", "words", "--server", "t")).toEqual(["two"]);
    expect(await offered("why", "one:ec")).toEqual(["one:echo"]);
    expect(await offered("execute", "three", "")).toEqual([]);
    expect(await offered("execute", "one", "echo", "")).toEqual([]);
    expect(await offered("tools", " ")).toEqual(["one", "two"]);
    expect(await readFile(marks, "utf8")).toBe("started\n");
  });

  test("are those of the config that is named", async () => {
    await write(project, { "other.json": { mcpServers: { elsewhere: faulty() } } });
    await runMain(["list", "--config", "other.json"]);
    expect(await offered("tools", "--config", "other.json", "")).toEqual(["elsewhere"]);
    expect(await offered("tools", "--config=other.json", "")).toEqual(["elsewhere"]);
    expect(await offered("tools", "")).toEqual([]);
  });

  test("is nothing where the config is newer than what is known: its rules may be others", async () => {
    await write(project, { "toolpipe.config.json": { mcpServers: { one: faulty() } } });
    await runMain(["list"]);
    const later = new Date(Date.now() + 60_000);
    await utimes(join(project, "toolpipe.config.json"), later, later);
    expect(await offered("tools", "")).toEqual([]);
  });

  test("is known without running a config that is a program", async () => {
    const mcpServers = JSON.stringify({ one: faulty() });
    await write(project, {
      runs: "",
      "toolpipe.config.mjs": `import { appendFileSync } from "node:fs";
appendFileSync(${JSON.stringify(join(project, "runs"))}, "run\\n");
export default { mcpServers: ${mcpServers} };`,
    });
    await runMain(["list"]);
    const before = await readFile(join(project, "runs"), "utf8");
    expect(await offered("execute", "one", "ec")).toEqual(["echo"]);
    expect(await readFile(join(project, "runs"), "utf8")).toBe(before);
  });

  test("holds nothing that a shell would understand", async () => {
    const names = ["good", "$(touch /tmp/x)", "a b", "`id`", "a;b", "new\nline", "-rf", "*"];
    const tools = names.map((name) => ({ name, inputSchema: { type: "object" } }));
    await write(project, {
      "odd.mjs": `import { localTools } from "toolpipe";
export const odd = localTools("odd", { id: "odd" }, ${JSON.stringify(tools)}.map((tool) => ({ ...tool, run: () => ({ content: [] }) })));`,
      "toolpipe.config.json": { plugins: ["./odd.mjs"] },
    });
    await runMain(["list"]);
    for (const word of await offered("execute", "odd", "")) expect(word).toMatch(/^\w+$/);
    expect(await offered("execute", "odd", "g")).toEqual(["good"]);
  });

  test("is nothing kept where nothing is to be kept", async () => {
    await write(project, {
      "toolpipe.config.json": { cache: { enabled: false }, mcpServers: { one: faulty() } },
    });
    await runMain(["list"]);
    expect(await offered("execute", "")).toEqual([]);
  });
});

describe("the script", () => {
  test("completes in a real bash", async () => {
    await write(project, { "toolpipe.config.json": { mcpServers: { one: faulty(), two: faulty() } } });
    await runMain(["list"]);
    const bin = await temporaryFolder({
      toolpipe: `#!/bin/sh\nexec ${toolpipeCommand.map((word) => `'${word}'`).join(" ")} "$@"\n`,
      "try.sh": `eval "$(toolpipe completion bash)"
offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _toolpipe; echo "\${COMPREPLY[*]}"; }
offer toolpipe ins
offer toolpipe execute ''
offer toolpipe execute one ech
offer toolpipe search x --server = t
offer anygpt mcp inspect two env
offer toolpipe nonsense ''
complete -p toolpipe anygpt
`,
    });
    await chmod(join(bin, "toolpipe"), 0o755);
    const env = { ...process.env, PATH: `${bin}${delimiter}${process.env["PATH"]}` };
    const { stdout, stderr } = await promisify(execFile)("bash", [join(bin, "try.sh")], { env });
    expect(stdout.split("\n")).toEqual([
      "inspect",
      "one two",
      "echo",
      "two",
      "environment",
      "",
      "complete -o default -F _toolpipe toolpipe",
      "complete -o default -F _toolpipe anygpt",
      "",
    ]);
    expect(stderr).toBe("");
  });

  test("is well-formed for every shell that is there to read it", async () => {
    const readers: Readonly<Record<string, readonly string[]>> = {
      bash: ["bash", "-n"],
      zsh: ["zsh", "-n"],
      fish: ["fish", "--no-execute"],
      powershell: ["pwsh", "-NoProfile", "-File"],
    };
    const checked: string[] = [];
    for (const [shell, [program = "", ...args]] of Object.entries(readers)) {
      const { code, stdout } = await runMain(["completion", shell]);
      expect(code).toBe(0);
      expect(stdout).toContain("toolpipe __complete -- ");
      const folder = await temporaryFolder({ "script.ps1": stdout });
      try {
        execFileSync(program, [...args, join(folder, "script.ps1")], { stdio: "pipe" });
        checked.push(shell);
      } catch (thrown) {
        // A shell that is not there has nothing to say.
        if ((thrown as NodeJS.ErrnoException).code !== "ENOENT") throw thrown;
      }
    }
    expect(checked).toContain("bash");
  });

  test("of another shell is not there", async () => {
    expect(await runMain(["completion", "powershel"])).toEqual({
      code: 1,
      stdout: "",
      stderr: 'There is no completion script for "powershel"; did you mean "powershell"? See --help.\n',
    });
    expect((await runMain(["completion", "constructor"])).code).toBe(1);
  });
});
