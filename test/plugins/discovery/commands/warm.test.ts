import { readFile } from "node:fs/promises";
import { afterEach, describe, expect, test, vi } from "vitest";
import { createProgressBar, formatProgress } from "../../../../plugins/lib/terminal/output.ts";
import { dead, faulty, marking, place, write } from "../../../support/place.ts";
import { runMain } from "../../../support/run-cli.ts";

afterEach(() => vi.restoreAllMocks());

describe("warm", () => {
  test("asks every server once, then none: its tools are cached, and the gateway has them too", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, {
      "toolpipe.config.json": { mcpServers: { one: definition, two: faulty("onebadtool") } },
    });
    const cold = await runMain(["warm"]);
    expect(cold.stdout).toMatch(/^✓ one: [1-9]\d* tools$/m);
    expect(cold.stdout).toMatch(/^✓ two: 100 tools$/m);
    expect(cold.stdout).toMatch(/^Warmed: 2 successful, 0 failed, \d+ tools cached in \d+\.\d s$/m);
    expect({ code: cold.code, stderr: cold.stderr }).toEqual({ code: 0, stderr: "" });
    const warm = await runMain(["warm"]);
    expect(warm.stdout).toMatch(/^✓ one: \d+ tools, cached already$/m);
    // Neither does the gateway ask: what it would ask for is there.
    expect((await runMain(["search", "echo what it is told"])).stdout).toContain("one:echo");
    expect(await readFile(marks, "utf8")).toBe("started\n");
    await runMain(["warm", "--fresh"]);
    expect(await readFile(marks, "utf8")).toBe("started\nstarted\n");
  });

  test("asks only those that are named", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    const ok = faulty("onebadtool");
    await write(project, { "toolpipe.config.json": { mcpServers: { one: definition, two: ok, three: ok } } });
    const { code, stdout } = await runMain(["warm", "two", "three"]);
    expect(stdout).toMatch(/^Warmed: 2 successful, 0 failed, 200 tools cached/m);
    expect(code).toBe(0);
    expect(await readFile(marks, "utf8")).toBe("");
  });

  test("fails with exit code 3 where one server does, and warms the others all the same", async () => {
    await place({
      project: { "toolpipe.config.json": { mcpServers: { gone: dead, two: faulty("onebadtool") } } },
    });
    const text = await runMain(["warm"]);
    expect(text.stdout).toContain(
      '✗ gone: The command "to-be-found" could not be started: it was not found.\n',
    );
    expect(text.stdout).toMatch(/^Warmed: 1 successful, 1 failed, 100 tools cached/m);
    expect(text.code).toBe(3);
    const json = await runMain(["warm", "--json"]);
    expect(JSON.parse(json.stdout)).toMatchObject({
      successful: 1,
      failed: 1,
      cachedTools: 100,
      alreadyWarm: 1,
      failures: [{ server: "gone", code: "SPAWN_FAILED" }],
    });
    expect(json.code).toBe(3);
  });

  test("starts no server that needs approval, and fails if one is named", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, { ".mcp.json": { mcpServers: { foreign: definition } } });
    expect((await runMain(["warm"])).code).toBe(0);
    const named = await runMain(["warm", "foreign"]);
    expect(named.stderr).toContain("toolpipe approve foreign");
    expect(named.code).toBe(4);
    expect(await readFile(marks, "utf8")).toBe("");
  });

  test("names a server that is not there", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { github: dead } } } });
    const { code, stderr } = await runMain(["warm", "githb"]);
    expect(stderr).toContain("githb");
    expect(code).toBe(2);
  });
});

describe("the bar", () => {
  test("fills as things get done", () => {
    expect(formatProgress(0, 4, "")).toBe("[░░░░░░░░░░░░░░░░░░░░] 0/4");
    expect(formatProgress(1, 4, "github")).toBe("[█████░░░░░░░░░░░░░░░] 1/4 github");
    expect(formatProgress(4, 4, "slack")).toBe("[████████████████████] 4/4 slack");
    expect(formatProgress(0, 0, "")).toBe("[████████████████████] 0/0");
  });

  test("fits on a line and steers nothing, whatever a server is called", () => {
    const text = formatProgress(1, 2, `\u001b[31m${"long ".repeat(50)}\n`);
    expect(text.length).toBeLessThan(70);
    expect(text).not.toMatch(/\p{Cc}/u);
  });

  test("is seen on a terminal until it is taken away, and never in a pipe", () => {
    for (const isTTY of [true, false]) {
      const written: string[] = [];
      const bar = createProgressBar({ isTTY, write: (text) => written.push(text) });
      bar.clear();
      bar.show(1, 2, "a");
      bar.clear();
      bar.clear();
      expect(written).toEqual(isTTY ? [`\r\u001b[2K${formatProgress(1, 2, "a")}`, "\r\u001b[2K"] : []);
    }
  });

  test("stands where lines would be, which come after it", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { two: faulty("onebadtool") } } } });
    const before = Object.getOwnPropertyDescriptor(process.stderr, "isTTY");
    Object.defineProperty(process.stderr, "isTTY", { value: true, configurable: true });
    try {
      const { stdout, stderr } = await runMain(["warm"]);
      expect(stderr).toContain("] 0/1");
      expect(stderr).toContain("] 1/1 two");
      expect(stderr.endsWith("\r\u001b[2K")).toBe(true);
      expect(stdout).toMatch(/^✓ two: 100 tools\nWarmed: 1 successful/);
    } finally {
      if (before) Object.defineProperty(process.stderr, "isTTY", before);
      else Reflect.deleteProperty(process.stderr, "isTTY");
    }
  });
});
