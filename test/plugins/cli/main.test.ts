import { stripVTControlCharacters } from "node:util";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { version } from "../../../core/mod.ts";
import { place } from "../../support/place.ts";
import { type Bin, runMain } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

beforeEach(async () => {
  await place();
});

describe("help", () => {
  test.each([[[]], [["--help"]], [["-h"]]])("is printed for %j, with every command", async (args) => {
    const { code, stdout, stderr } = await runMain(args);
    expect(stdout).toContain("USAGE toolpipe");
    for (const name of ["demo", "tools", "execute", "config"])
      expect(stdout).toMatch(new RegExp(`^ +${name} `, "m"));
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test.each<[string[], Bin, string]>([
    [["execute", "--help"], "toolpipe", "USAGE toolpipe execute [OPTIONS] <SERVER> <TOOL>"],
    [["execute", "demo", "add", "-h"], "toolpipe", "USAGE toolpipe execute [OPTIONS] <SERVER> <TOOL>"],
    [["config", "show", "--help"], "toolpipe", "USAGE toolpipe config show [OPTIONS]"],
    [["config", "--help"], "toolpipe", "USAGE toolpipe config show|validate"],
    [[], "anygpt", "USAGE anygpt mcp"],
    [
      ["mcp", "--help"],
      "anygpt",
      "USAGE anygpt mcp serve|list|search|tools|inspect|execute|config|doctor|why|refresh|approve|revoke|login|audit",
    ],
    [["mcp", "tools", "--help"], "anygpt", "USAGE anygpt mcp tools [OPTIONS] [SERVER]"],
  ])("of %j of %s names the whole command", async (args, bin, usage) => {
    const { code, stdout } = await runMain(args, bin);
    expect(stdout).toContain(usage);
    expect(code).toBe(0);
  });

  test("has no color where it is not read on a terminal", async () => {
    expect((await runMain(["--help"])).stdout).not.toContain("\u001b");
  });
});

test.each<[string[], Bin]>([
  [["--version"], "toolpipe"],
  [["-v"], "toolpipe"],
  [["--version"], "anygpt"],
])("%j of %s prints the version alone", async (args, bin) => {
  expect(await runMain(args, bin)).toEqual({ code: 0, stdout: `${version}\n`, stderr: "" });
});

describe("a wrong command line is one line on standard error with exit code 1:", () => {
  test.each<[string[], Bin, string]>([
    [["nonsense"], "toolpipe", `There is no command "nonsense". See --help.`],
    [["tool"], "toolpipe", `There is no command "tool"; did you mean "tools"? See --help.`],
    [["constructor"], "toolpipe", `There is no command "constructor". See --help.`],
    [["__proto__"], "toolpipe", `There is no command "__proto__". See --help.`],
    [
      ["config"],
      "toolpipe",
      "A command is missing: one of show, validate, options, sources, reload. See --help.",
    ],
    [
      ["--", "tools"],
      "toolpipe",
      "demo, start, init, doctor, serve, list, search, tools, inspect, execute, config, why, refresh, registry, warm, discover, introspect, export, approve, revoke, login, token, audit, state, completion, playground, eval",
    ],
    [
      ["config", "valdiate"],
      "toolpipe",
      `There is no command "valdiate"; did you mean "validate"? See --help.`,
    ],
    [["--json", "tools"], "toolpipe", "There is no option --json before a command. See --help."],
    [
      ["mcp"],
      "anygpt",
      "A command is missing: one of serve, list, search, tools, inspect, execute, config, doctor, why, refresh, approve, revoke, login, audit, state. See --help.",
    ],
    [["tools"], "anygpt", `There is no command "tools". See --help.`],
    [["mcp", "demo"], "anygpt", `There is no command "demo". See --help.`],
    [["tools", "--jsno"], "toolpipe", "There is no option --jsno; did you mean --json? See --help."],
    [["tools", "--xyzzy"], "toolpipe", "There is no option --xyzzy. See --help."],
    [["tools", "-x"], "toolpipe", "There is no option --x"],
    [["tools", "--no-colour"], "toolpipe", "There is no option --colour"],
    [["tools", "--constructor"], "toolpipe", "There is no option --constructor"],
    [["tools", "--version"], "toolpipe", "There is no option --version"],
    [["demo", "--json"], "toolpipe", "There is no option --json"],
    [["tools", "a", "b"], "toolpipe", `There is one argument too many: "b". See --help.`],
    [["execute", "a", "b", "c"], "toolpipe", `There is one argument too many: "c". See --help.`],
    [["demo", "a"], "toolpipe", `There is one argument too many: "a". See --help.`],
    [["config", "show", "a"], "toolpipe", `There is one argument too many: "a". See --help.`],
    [["tools", "--config"], "toolpipe", "The option --config needs a value. See --help."],
    [["tools", "--preset="], "toolpipe", "The option --preset needs a value. See --help."],
  ])("%j of %s", async (args, bin, message) => {
    const { code, stdout, stderr } = await runMain(args, bin);
    expect(stderr).toContain(message);
    expect(stderr).toMatch(/^[^\n]+\n$/);
    expect(stripVTControlCharacters(stderr)).toBe(stderr);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
  });
});

test("a config that is wrong, missing or ambiguous is one line with exit code 2", async () => {
  const folder = await temporaryFolder({ "bad.json": `{ "preset": "anygtp" }` });
  for (const args of [["tools"], ["execute", "demo", "add"], ["config", "show"], ["config", "validate"]]) {
    for (const file of ["bad.json", "missing.json"]) {
      const { code, stdout, stderr } = await runMain([...args, "--config", `${folder}/${file}`]);
      expect(stderr).toContain(`${folder}/${file}: `);
      expect(stderr).toMatch(/^[^\n]+\n$/);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    }
  }
});

test("a preset can be chosen by name and by path", async () => {
  const folder = await temporaryFolder({
    "empty.json": "{}",
    "own.mjs": `import { definePreset } from "toolpipe"; export const own = definePreset({ name: "own", plugins: [] });`,
  });
  for (const [preset, name] of [
    ["passthrough", "passthrough"],
    ["./own.mjs", "own"],
  ]) {
    const args = ["config", "show", "--json", "--config", `${folder}/empty.json`, "--preset", preset ?? ""];
    expect(JSON.parse((await runMain(args)).stdout).preset).toBe(name);
  }
  const wrong = await runMain(["tools", "--config", `${folder}/empty.json`, "--preset", "gatway"]);
  expect(wrong.stderr).toContain(`did you mean "gateway"?`);
  expect(wrong.code).toBe(2);
});

test("an unforeseen error is printed with its message, and with its stack at debug level", async () => {
  const now = { description: "", load: async () => ({ run: () => Promise.reject(new TypeError("a bug")) }) };
  const broken = { name: "broken", description: "", commands: { now } };
  const { main } = await import("../../../plugins/cli/mod.ts");
  const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => void vi.restoreAllMocks());
  const read = (): string => printed.mock.calls.map(([text]) => String(text)).join("");
  expect(await main(broken, ["now"])).toBe(3);
  expect(read()).toContain("It says: a bug");
  expect(read()).not.toMatch(/\n\s+at /);
  vi.stubEnv("LOG_LEVEL", "debug");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(await main(broken, ["now"])).toBe(3);
  expect(read()).toMatch(/TypeError: a bug\n\s+at /);
});
