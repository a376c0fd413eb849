import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, marking, place, real, write } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

describe("a server that a project defines", () => {
  test("is used once it is approved, asks again when it is changed, and no more once it is revoked", async () => {
    const { project, home } = await place();
    const { definition, marks } = await marking(home);
    await write(project, { ".mcp.json": { mcpServers: { docs: definition } } });
    const file = join(project, ".mcp.json");
    const waits = `It is defined in the project file ${file}, and it has not been approved yet. Approve it with: toolpipe approve docs`;

    expect((await runMain(["list"])).stdout).toBe(
      `MCP Servers (1 configured):\n\n✗ docs (0 tools)\n  Status: Disconnected\n  ${waits}\n`,
    );
    expect(await runMain(["search", "echo"])).toEqual({
      code: 2,
      stdout: 'No tool fits "echo".\n',
      stderr:
        'Not searched, because their tools are not known: docs (needs approval). See "toolpipe list".\n',
    });
    const execute = () => runMain(["execute", "docs", "echo", "--args", '{"text":"hello"}']);
    expect(await execute()).toMatchObject({ code: 4, stdout: expect.stringContaining(waits) });
    expect(await runMain(["tools", "docs"])).toMatchObject({ code: 3, stdout: "" });
    expect(await runMain(["refresh", "docs"])).toMatchObject({ code: 4, stdout: "" });
    expect((await runMain(["approve"])).stdout).toBe(
      `docs\n  Runs: node ${join(home, "marking.mjs")}\n  Local files, approved with it: ${join(home, "marking.mjs")}\n  ${waits}\n`,
    );
    // Until here, nothing of the project has run.
    expect(await readFile(marks, "utf8")).toBe("");

    const approved = await runMain(["approve", "docs"]);
    expect(approved).toMatchObject({ code: 0, stderr: "" });
    expect(approved.stdout).toMatch(
      /^✓ Approved docs\n {2}Runs: node .*marking\.mjs\n {2}It has \d+ tools\.\n$/,
    );
    expect((await runMain(["approve"])).stdout).toBe("Nothing waits for approval.\n");
    expect((await runMain(["search", "echo"])).stdout).toContain("1. docs:echo");
    expect(await execute()).toMatchObject({ code: 0, stdout: expect.stringContaining("Result:\n  hello\n") });

    const other = { ...definition, env: { MORE: "x" } };
    await write(project, { ".mcp.json": { mcpServers: { docs: other } } });
    const changed = await runMain(["list"]);
    expect(changed.stdout).toContain(
      "its definition, or a local file that it names, has changed since it was approved",
    );
    expect((await runMain(["search", "echo"])).code).toBe(2);
    expect((await execute()).code).toBe(4);
    expect((await runMain(["approve", "docs"])).code).toBe(0);
    expect((await execute()).code).toBe(0);

    expect(await runMain(["revoke", "docs"])).toEqual({
      code: 0,
      stdout: `✓ Revoked: docs in ${file}\n`,
      stderr: "",
    });
    expect((await runMain(["list"])).stdout).toContain("it has not been approved yet");
    expect((await execute()).code).toBe(4);
    expect((await runMain(["search", "echo"])).code).toBe(2);
  });

  test("waits beside a user's own servers, which do not", async () => {
    await place({
      home: { ".cursor/mcp.json": { mcpServers: { mine: faulty() } } },
      project: { ".cursor/mcp.json": { mcpServers: { theirs: faulty("onebadtool") } } },
    });
    const { stdout } = await runMain(["list"]);
    expect(stdout).toMatch(/✓ mine \(\d+ tools\)\n/);
    expect(stdout).toContain("✗ theirs (0 tools)\n  Status: Disconnected\n");
    expect((await runMain(["refresh"])).code).toBe(0);
  });

  test("is found by a search as soon as it is approved, where others are known", async () => {
    await place({
      home: { ".cursor/mcp.json": { mcpServers: { mine: faulty() } } },
      project: { ".mcp.json": { mcpServers: { theirs: faulty("onebadtool") } } },
    });
    await runMain(["search", "echo"]);
    await runMain(["approve", "theirs"]);
    const { stdout, stderr } = await runMain(["search", "tool-7"]);
    expect(stdout).toContain("theirs:tool-7");
    expect(stderr).toBe("");
  });

  test("is approved even if it does not start, with a warning", async () => {
    await place({ project: { ".mcp.json": { mcpServers: { docs: dead } } } });
    expect(await runMain(["approve", "docs"])).toEqual({
      code: 0,
      stdout:
        '✓ Approved docs\n  Runs: /nowhere/to-be-found\n  It cannot be used yet: The command "to-be-found" could not be started: it was not found.\n',
      stderr: "",
    });
    expect((await runMain(["list"])).stdout).toContain("✗ docs (0 tools)\n  Status: Disconnected\n");
  });

  test("an approval of one project is none of another's, and can be taken back from anywhere", async () => {
    const { project, home } = await place({ project: { ".mcp.json": { mcpServers: { docs: faulty() } } } });
    await runMain(["approve", "docs"]);
    await write(home, { "other/.mcp.json": { mcpServers: { docs: faulty() } } });
    process.chdir(join(home, "other"));
    expect((await runMain(["list"])).stdout).toContain("Status: Disconnected");
    await rm(join(project, ".mcp.json"));
    expect(await runMain(["revoke", "docs"])).toMatchObject({ code: 0 });
    expect(await runMain(["revoke", "docs"])).toMatchObject({ code: 2 });
  });

  test("a name that is approved in several projects is not guessed", async () => {
    const { home } = await place();
    for (const name of ["a", "b"]) {
      await write(home, { [`${name}/.mcp.json`]: { mcpServers: { docs: faulty() } } });
      process.chdir(join(home, name));
      expect((await runMain(["approve", "docs"])).code).toBe(0);
    }
    process.chdir(home);
    const { code, stderr } = await runMain(["revoke", "docs"]);
    const a = `docs in ${join(home, "a", ".mcp.json")}`;
    expect(stderr).toBe(
      `Several servers "docs" are approved. Name the one you mean: "${a}", "docs in ${join(home, "b", ".mcp.json")}".\n`,
    );
    expect(code).toBe(2);
    expect(await runMain(["revoke", a])).toMatchObject({ code: 0, stdout: `✓ Revoked: ${a}\n` });
    expect((await runMain(["revoke", "docs"])).code).toBe(0);
  });
});

describe("approve and revoke", () => {
  test("refuse what needs no approval, with exit code 2", async () => {
    const { project } = await place();
    await write(project, {
      "toolpipe.config.json": { plugins: ["toolpipe/plugins/demo"], mcpServers: { one: real.time } },
    });
    for (const name of ["one", "demo"]) {
      expect(await runMain(["approve", name])).toEqual({
        code: 2,
        stdout: "",
        stderr: `The server "${name}" needs no approval: it is not defined in a project file.\n`,
      });
      expect(await runMain(["revoke", name])).toEqual({
        code: 2,
        stdout: "",
        stderr: `"${name}" is not approved. List what waits with: toolpipe approve\n`,
      });
    }
    expect(await runMain(["approve", "oen"])).toMatchObject({
      code: 2,
      stderr: 'There is no server "oen"; did you mean "one"? The servers are one, demo.\n',
    });
  });

  test("print JSON when asked, and may be repeated", async () => {
    await place({ project: { ".mcp.json": { mcpServers: { docs: faulty() } } } });
    for (let round = 0; round < 2; round++) {
      const { code, stdout } = await runMain(["approve", "docs", "--json"]);
      expect(JSON.parse(stdout)).toMatchObject({ approved: "docs", status: "connected" });
      expect(code).toBe(0);
    }
    expect((await runMain(["approve", "--json"])).stdout).toBe('{"waiting":[]}\n');
    expect((await runMain(["revoke", "docs", "--json"])).stdout).toBe('{"revoked":"docs"}\n');
  });

  test("a request that was never approved cannot be revoked", async () => {
    await place({ project: { ".mcp.json": { mcpServers: { docs: faulty() } } } });
    await runMain(["list"]);
    expect(await runMain(["revoke", "docs"])).toMatchObject({
      code: 2,
      stderr: '"docs" is not approved. List what waits with: toolpipe approve\n',
    });
  });
});
