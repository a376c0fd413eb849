import { readFile } from "node:fs/promises";
import { describe, expect, test } from "vitest";
import { dead, faulty, marking, place, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

describe("refresh", () => {
  test("asks every server again, and reports what each has", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, {
      "toolpipe.config.json": {
        plugins: ["toolpipe/plugins/demo"],
        mcpServers: { one: definition, two: faulty("onebadtool") },
      },
    });
    for (let round = 1; round <= 2; round++) {
      const { code, stdout, stderr } = await runMain(["refresh"]);
      expect(stdout).toMatch(/^✓ one: [1-9]\d* tools$/m);
      expect(stdout).toContain("✓ two: 99 tools\n");
      expect(stdout).toContain("✓ demo: 3 tools\n");
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(await readFile(marks, "utf8")).toBe("started\n".repeat(round));
    }
  });

  test("asks one server, and no other", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, {
      "toolpipe.config.json": { mcpServers: { one: definition, two: faulty("onebadtool") } },
    });
    expect(await runMain(["refresh", "two"])).toEqual({ code: 0, stdout: "✓ two: 99 tools\n", stderr: "" });
    expect(await readFile(marks, "utf8")).toBe("");
  });

  test("fails with exit code 3 where one server does, and asks the others all the same", async () => {
    await place({
      project: { "toolpipe.config.json": { mcpServers: { gone: dead, two: faulty("onebadtool") } } },
    });
    const text = await runMain(["refresh"]);
    expect(text).toEqual({
      code: 3,
      stdout: '✗ gone: The command "to-be-found" could not be started: it was not found.\n✓ two: 99 tools\n',
      stderr: "",
    });
    const json = await runMain(["refresh", "--json"]);
    expect(JSON.parse(json.stdout).servers).toEqual([
      expect.objectContaining({ name: "gone", status: "disconnected", toolCount: 0 }),
      expect.objectContaining({ name: "two", status: "connected", toolCount: 99 }),
    ]);
    expect(json.code).toBe(3);
    expect(await runMain(["refresh", "gone"])).toMatchObject({ code: 3 });
    expect(await runMain(["refresh", "two"])).toMatchObject({ code: 0 });
  });

  test("a server that is switched off is no failure, unless it is the one that is meant", async () => {
    await place({
      project: {
        "toolpipe.config.json": { mcpServers: { off: { ...dead, disabled: true }, two: faulty() } },
      },
    });
    const all = await runMain(["refresh"]);
    expect(all.stdout).toMatch(/^✗ off: It is switched off in .*\n✓ two: \d+ tools\n$/);
    expect(all.code).toBe(0);
    const one = await runMain(["refresh", "off"]);
    expect(one).toMatchObject({ code: 4, stdout: "" });
    expect(one.stderr).toMatch(/^The server "off" cannot be used\. It is switched off in [^\n]*\n$/);
  });

  test("reports that there are no servers, or not the named one", async () => {
    await place();
    expect(await runMain(["refresh"])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^There are no servers\./),
    });
    expect(await runMain(["refresh", "--json"])).toMatchObject({ code: 0, stdout: '{"servers":[]}\n' });
    expect(await runMain(["refresh", "x"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'There is no server "x". There are no servers.\n',
    });
  });
});
