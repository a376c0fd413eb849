import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, marking, place, real, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { boxFolder } from "./_box.ts";

/** Goes to a project with these servers in its config. */
async function withServers(mcpServers: object, more: object = {}) {
  return place({ project: { "toolpipe.config.json": { mcpServers, ...more } } });
}

describe("inspect", () => {
  test("describes a tool of a real server, whole", async () => {
    const { project } = await place();
    await write(project, { "toolpipe.config.json": { mcpServers: { files: real.files(project) } } });
    const { code, stdout, stderr } = await runMain(["inspect", "files", "read_text_file"]);
    expect(stdout).toMatch(
      /^Tool: files:read_text_file\n\nDescription:\n {2}Read the complete .*Only works within allowed directories\.\n\nParameters:\n {2}path \(string, required\)\n\n {2}tail \(number, optional\)\n {4}If provided, .*\n\n {2}head \(number, optional\)\n {4}If .*\n$/,
    );
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("prints JSON in the shape of the specification, and how the tool stands", async () => {
    await withServers({ one: faulty() }, { toolRules: [{ pattern: ["echo"], tags: ["speech"] }] });
    expect(JSON.parse((await runMain(["inspect", "one", "echo", "--json"])).stdout)).toEqual({
      server: "one",
      tool: "echo",
      description: "Says what it is told",
      parameters: [{ name: "text", type: "string", description: "", required: false }],
      enabled: true,
      tags: ["speech"],
    });
    const output = await runMain(["inspect", "one", "echo", "--json", "--examples"]);
    expect(JSON.parse(output.stdout).examples).toEqual([
      { description: "Arguments that its schema accepts", parameters: {} },
    ]);
  });

  test("says of a tool without description, parameters or arguments that there are none", async () => {
    await withServers({ one: faulty() });
    expect((await runMain(["inspect", "one", "fail", "--examples"])).stdout).toBe(
      "Tool: one:fail\n\nDescription:\n  (none)\n\nParameters:\n  (none)\n\nExamples:\n  Arguments that its schema accepts:\n    (nothing)\n",
    );
  });

  test("says of a disabled tool why it is", async () => {
    await withServers({ one: faulty() }, { toolRules: [{ pattern: ["echo"], enabled: false }] });
    const text = await runMain(["inspect", "one", "echo"]);
    expect(text.stdout).toMatch(
      /^Tool: one:echo \(disabled\)\n\nDisabled:\n {2}Rule 1 \(echo\) disables it\.\n\nDescription:\n/,
    );
    expect(text.code).toBe(0);
    expect(JSON.parse((await runMain(["inspect", "one", "echo", "--json"])).stdout)).toMatchObject({
      enabled: false,
      disabledBecause: "Rule 1 (echo) disables it.",
    });
  });

  test("names what was probably meant, but no disabled tool, with exit code 2", async () => {
    await withServers({ one: faulty() }, { toolRules: [{ pattern: ["fail"], enabled: false }] });
    const tool = await runMain(["inspect", "one", "ehco"]);
    expect(tool).toMatchObject({ code: 2, stdout: "" });
    expect(tool.stderr).toMatch(/^There is no tool "one:ehco"\. Did you mean echo\? [^\n]*\n$/);
    expect((await runMain(["inspect", "one", "fial"])).stderr).not.toContain("fail");
    expect(await runMain(["inspect", "oen", "echo"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'There is no server "oen"; did you mean "one"? The servers are one.\n',
    });
  });

  test("tells why a server cannot be asked", async () => {
    await withServers({ gone: dead });
    expect(await runMain(["inspect", "gone", "echo"])).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^The server "gone" cannot be used\. [^\n]*it was not found\.\n$/),
    });
  });

  test("starts no server for a tool that is known", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, { "toolpipe.config.json": { mcpServers: { one: definition } } });
    for (let round = 0; round < 2; round++) expect((await runMain(["inspect", "one", "echo"])).code).toBe(0);
    expect(await readFile(marks, "utf8")).toBe("started\n");
  });

  test("the words of a tool cannot steer the terminal", async () => {
    const { project } = await place({
      project: {
        "steer.mjs": `import { localTools } from "toolpipe";
const description = "\\u001b[2Jred\\u001b]0;title\\u0007\\nsecond line";
const inputSchema = { type: "object", properties: { "a\\u001b[31m": { type: "string", description, default: "\\u001b[31m" } } };
export const steer = localTools("steer", { id: "steer" }, [{ name: "it", description, inputSchema, run: () => ({ content: [] }) }]);`,
        "toolpipe.config.json": { plugins: ["./steer.mjs"] },
      },
    });
    const args = ["inspect", "steer", "it", "--examples", "--config", join(project, "toolpipe.config.json")];
    const { stdout } = await runMain(args);
    expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
    expect(stdout).toContain(
      "Description:\n  red\n  second line\n\nParameters:\n  a (string, optional)\n    red\n",
    );
  });

  test("describes the tools of plugins, and takes the meta-tools for no server's", async () => {
    await place();
    const { config } = await boxFolder();
    expect((await runMain(["inspect", "demo", "add", "--config", config])).stdout).toContain(
      "  a (number, required)\n",
    );
    expect((await runMain(["inspect", "anygpt", "search_tools", "--config", config])).code).toBe(2);
  });
});
