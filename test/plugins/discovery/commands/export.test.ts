import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, place } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

const pending = join("capabilities", "servers", "pending");

describe("export", () => {
  test("writes one file a tool of every server, and names which could not be asked", async () => {
    const { project } = await place({
      project: {
        "toolpipe.config.json": {
          mcpServers: { docs: faulty(), gone: dead },
          toolRules: [{ pattern: ["fail"], enabled: false }],
        },
      },
    });
    const { code, stdout } = await runMain(["export"]);
    expect(code).toBe(0);
    expect(stdout).toContain(`✓ docs: 13 files in ${join(pending, "docs")}\n`);
    expect(stdout).toMatch(/^✗ gone: .*to-be-found/m);
    const files = await readdir(join(project, pending, "docs"));
    expect(files).toContain("echo.rtfs");
    // A disabled tool is not exposed.
    expect(files).not.toContain("fail.rtfs");
    const echo = await readFile(join(project, pending, "docs", "echo.rtfs"), "utf8");
    expect(echo).toContain("(capability :mcp.docs.echo\n");
    // Arguments may hold secrets.
    expect(echo).not.toContain("--mode");
  });

  test("writes the servers that are named, in the format and to the folder that are named", async () => {
    const { project } = await place({
      project: { "toolpipe.config.json": { mcpServers: { docs: faulty(), more: faulty("onebadtool") } } },
    });
    const { stdout } = await runMain([
      "export",
      "docs",
      "more",
      "--format",
      "json",
      "--out",
      "here",
      "--json",
    ]);
    const { exported } = JSON.parse(stdout) as { exported: { server: string; folder: string }[] };
    expect(exported.map(({ server, folder }) => [server, folder])).toEqual([
      ["docs", join(project, "here", "docs")],
      ["more", join(project, "here", "more")],
    ]);
    const echo = JSON.parse(await readFile(join(project, "here", "docs", "echo.json"), "utf8"));
    expect(echo).toMatchObject({ id: "mcp.docs.echo", provider: { type: "mcp", toolName: "echo" } });
    expect((await runMain(["export", "docs", "--format", "typescript", "--out", "here"])).code).toBe(0);
    expect(await readdir(join(project, "here", "docs"))).toContain("echo.ts");
  });

  test("writes the same bytes again", async () => {
    const { project } = await place({
      project: { "toolpipe.config.json": { mcpServers: { docs: faulty() } } },
    });
    const file = join(project, pending, "docs", "echo.rtfs");
    await runMain(["export"]);
    const before = await readFile(file, "utf8");
    await runMain(["export"]);
    expect(await readFile(file, "utf8")).toBe(before);
  });

  test.each([
    ["export default () => 'types';", /an object with the string "name", found a value of the type function/],
    [
      "export default { name: 'x', extension: '.x', type() {} };",
      /the function "declaration", found undefined/,
    ],
  ])("refuses the emitter of a module that reads %j", async (source, message) => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { gone: dead } }, "own.mjs": source } });
    const { code, stderr } = await runMain(["export", "--format", "./own.mjs"]);
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
  });

  test.each<[string[], number, RegExp]>([
    [["export", "unknown"], 2, /unknown/],
    [["export", "gone"], 3, /to-be-found/],
    [["export", "--format", "xml"], 1, /--format needs one of/],
    [["export", "--out="], 1, /--out needs a value/],
  ])("%j fails with %i", async (line, code, message) => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { gone: dead } } } });
    expect(await runMain(line)).toMatchObject({ code, stderr: expect.stringMatching(message) });
  });
});
