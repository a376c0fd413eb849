import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, marking, place, real, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";

/** Goes to a project with these servers in its config. */
async function withServers(mcpServers: object, more: object = {}) {
  return place({ project: { "toolpipe.config.json": { mcpServers, ...more } } });
}

describe("search", () => {
  test("prints what it finds as the specification shows it", async () => {
    await withServers({ one: faulty() }, { toolRules: [{ pattern: ["echo"], tags: ["words", "speech"] }] });
    expect(await runMain(["search", "echo"])).toEqual({
      code: 0,
      stdout: `Search results for "echo" (1 found):

1. one:echo (100% match)
   Says what it is told
   Tags: words, speech
`,
      stderr: "",
    });
  });

  test("finds the tools of several real servers", async () => {
    const { project } = await place();
    await write(project, {
      "toolpipe.config.json": {
        mcpServers: { files: real.files(project), memory: real.memory(join(project, "memory.json")) },
      },
    });
    const { stdout } = await runMain(["search", "read", "--json"]);
    const found = JSON.parse(stdout).results.map(
      ({ server, tool }: Record<string, string>) => `${server}:${tool}`,
    );
    expect(found).toContain("files:read_text_file");
    expect(found).toContain("memory:read_graph");
  });

  test("prints JSON in the shape of the specification, with the first sentence as the summary", async () => {
    const { project } = await place();
    await write(project, { "toolpipe.config.json": { mcpServers: { files: real.files(project) } } });
    const { code, stdout } = await runMain(["search", "read_text_file", "--json", "--limit", "1"]);
    expect(JSON.parse(stdout)).toEqual({
      results: [
        {
          server: "files",
          tool: "read_text_file",
          summary: "Read the complete contents of a file from the file system as text.",
          relevance: 1,
          tags: [],
        },
      ],
    });
    expect(code).toBe(0);
  });

  test("starts no server where the catalog is known", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, { "toolpipe.config.json": { mcpServers: { one: definition } } });
    expect((await runMain(["search", "echo"])).code).toBe(0);
    expect(await readFile(marks, "utf8")).toBe("started\n");
    expect((await runMain(["search", "echo"])).stdout).toContain("1. one:echo");
    expect((await runMain(["search", "xyzzy"])).code).toBe(2);
    expect((await runMain(["search", "echo", "--server", "one"])).code).toBe(0);
    expect((await runMain(["tools", "one"])).code).toBe(0);
    expect(await readFile(marks, "utf8")).toBe("started\n");
  });

  test("counts the disabled tools that fit, as a line and as JSON", async () => {
    await withServers({ one: faulty() }, { toolRules: [{ pattern: ["echo"], enabled: false }] });
    expect(await runMain(["search", "echo"])).toMatchObject({
      code: 2,
      stdout: expect.stringMatching(/^No tool fits "echo"\.\n/),
      stderr: '1 disabled tool fits too. "toolpipe tools --all" lists disabled tools.\n',
    });
    expect(JSON.parse((await runMain(["search", "echo", "--json"])).stdout)).toMatchObject({ disabled: 1 });
  });

  test.each([
    ["search", ["search", "echo"]],
    ["tools", ["tools", "one"]],
    ["inspect", ["inspect", "one", "echo"]],
    ["config show", ["config", "show"]],
  ])("%s asks a server again once its listing is older than the cache's TTL", async (_name, args) => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    const starts = async () => (await readFile(marks, "utf8")).match(/started/g)?.length;
    const setTtl = (ttl: number) =>
      write(project, { "toolpipe.config.json": { mcpServers: { one: definition }, cache: { ttl } } });
    await setTtl(3600);
    await runMain(["tools", "one"]);
    await runMain(args);
    expect(await starts()).toBe(1);
    await setTtl(0.001);
    expect((await runMain(args)).code).toBe(0);
    expect(await starts()).toBe(2);
  });

  test("finds nothing with exit code 2", async () => {
    await withServers({ one: faulty() });
    expect(await runMain(["search", "xyzzy"])).toEqual({
      code: 2,
      stdout: 'No tool fits "xyzzy".\n',
      stderr: "",
    });
    expect(await runMain(["search", "xyzzy", "--json"])).toMatchObject({
      code: 2,
      stdout: '{"results":[]}\n',
    });
  });

  test("names the nearest tools where nothing fits, as lines and as JSON", async () => {
    const ranker = `{
      name: "never",
      tools: [],
      update(server, tools) { this.tools = tools; },
      rank() { return { hits: [], nearest: this.tools.slice(0, 2) }; },
    }`;
    await place({
      project: {
        "toolpipe.config.mjs": `export default {
          mcpServers: ${JSON.stringify({ one: faulty() })},
          options: { search: { ranker: ${ranker} } },
        };`,
      },
    });
    expect(await runMain(["search", "xyzzy"])).toEqual({
      code: 2,
      stdout: 'No tool fits "xyzzy".\n\nThese come closest:\n  one:echo\n  one:fail\n',
      stderr: "",
    });
    const json = await runMain(["search", "xyzzy", "--json"]);
    expect(JSON.parse(json.stdout)).toEqual({
      results: [],
      nearest: [
        { server: "one", tool: "echo", summary: "Says what it is told" },
        { server: "one", tool: "fail", summary: "" },
      ],
    });
    expect(json.code).toBe(2);
  });

  test("does not find a disabled tool", async () => {
    await withServers({ one: faulty() }, { toolRules: [{ pattern: ["echo"], enabled: false }] });
    expect((await runMain(["search", "echo"])).code).toBe(2);
  });

  test("--server looks at one server only, and asks no other", async () => {
    const { project } = await place();
    const { definition, marks } = await marking(project);
    await write(project, { "toolpipe.config.json": { mcpServers: { other: definition, one: faulty() } } });
    const { stdout, stderr } = await runMain(["search", "echo", "--server", "one"]);
    expect(stdout).toContain('Search results for "echo" (1 found):\n\n1. one:echo');
    expect(stderr).toBe("");
    expect(await readFile(marks, "utf8")).toBe("");
  });

  test("asks the servers although a plugin has tools, the first time", async () => {
    await withServers({ one: faulty() }, { plugins: ["toolpipe/plugins/demo"] });
    expect((await runMain(["search", "echo"])).stdout).toContain("one:echo");
  });

  test("waits for a server that is new only where nothing else fits", async () => {
    const { project } = await withServers({ one: faulty() });
    await runMain(["search", "echo"]);
    const { definition, marks } = await marking(project);
    await write(project, {
      "toolpipe.config.json": { mcpServers: { one: faulty("onebadtool"), two: definition } },
    });
    await runMain(["refresh", "one"]);
    expect(await runMain(["search", "tool-1"])).toMatchObject({
      code: 0,
      stderr: 'Not searched, because their tools are not known: two. See "toolpipe list".\n',
    });
    expect(await readFile(marks, "utf8")).toBe("");
    expect((await runMain(["search", "echo"])).stdout).toContain("1. two:echo");
    expect(await readFile(marks, "utf8")).toBe("started\n");
  });

  test("names the servers that could not be searched, but not in JSON output", async () => {
    await withServers({ one: faulty(), gone: dead });
    const human = await runMain(["search", "echo"]);
    expect(human.stderr).toBe(
      'Not searched, because their tools are not known: gone (error). See "toolpipe list".\n',
    );
    expect(await runMain(["search", "echo", "--json"])).toMatchObject({ code: 0, stderr: "" });
  });

  test("does not count a server as unsearched whose tools its definition tells", async () => {
    const tools = [{ name: "create_ticket", description: "Creates a ticket" }];
    const { command, args } = dead;
    const server = { name: "desk", connection: { type: "stdio", command, args }, tools };
    await place({
      project: {
        "own.json": { servers: [server] },
        "toolpipe.config.json": { sources: [{ type: "custom", path: "own.json" }] },
      },
    });
    const { stdout, stderr } = await runMain(["search", "ticket"]);
    expect(stdout).toContain("1. desk:create_ticket");
    expect(stderr).not.toContain("Not searched");
  });

  test("fails with the reason where the one server meant cannot be asked", async () => {
    await withServers({ one: faulty(), gone: dead });
    expect(await runMain(["search", "echo", "--server", "gone"])).toEqual({
      code: 3,
      stdout: "",
      stderr:
        'The server "gone" cannot be used. The command "to-be-found" could not be started: it was not found.\n',
    });
  });

  test("names the server that was probably meant", async () => {
    await withServers({ files: faulty() });
    expect(await runMain(["search", "echo", "--server", "flies"])).toEqual({
      code: 2,
      stdout: "",
      stderr: 'There is no server "flies"; did you mean "files"? The servers are files.\n',
    });
  });

  test("searches under a preset that has no search of its own", async () => {
    await withServers({ one: faulty() }, { preset: "passthrough" });
    expect((await runMain(["search", "echo"])).stdout).toContain("1. one:echo");
  });

  test("reports that there are no servers", async () => {
    await place();
    const { code, stdout, stderr } = await runMain(["search", "echo"]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: 'No tool fits "echo".\n' });
    expect(stderr).toMatch(/^There are no servers\. [^\n]+\n$/);
  });

  test("--limit bounds what is printed, and not what is counted", async () => {
    await withServers({ one: faulty("onebadtool") });
    const count = async (limit: number) => {
      const { stdout } = await runMain(["search", "tool", "--limit", String(limit)]);
      return {
        found: Number(/\((\d+) found\)/.exec(stdout)?.[1]),
        printed: stdout.match(/^\d+\. /gm)?.length,
      };
    };
    const { found } = await count(1_000);
    expect(found).toBeGreaterThan(3);
    expect(await count(1_000)).toEqual({ found, printed: found });
    expect(await count(3)).toEqual({ found, printed: 3 });
    expect(JSON.parse((await runMain(["search", "tool", "--json"])).stdout).results).toHaveLength(10);
  });

  test.each([
    [
      ["search", "a", "--limit", "0"],
      'The option --limit needs a whole number, 1 or more, not "0". See --help.\n',
    ],
    [
      ["search", "a", "--limit", "-1"],
      'The option --limit needs a whole number, 1 or more, not "-1". See --help.\n',
    ],
    [
      ["search", "a", "--limit", "1.5"],
      'The option --limit needs a whole number, 1 or more, not "1.5". See --help.\n',
    ],
    [
      ["search", "a", "--limit", "ten"],
      'The option --limit needs a whole number, 1 or more, not "ten". See --help.\n',
    ],
    [
      ["search", "a", "--limit="],
      'The option --limit needs a whole number, 1 or more, not "". See --help.\n',
    ],
    [
      ["search", "a", "--limit", "9".repeat(30)],
      `The option --limit needs a whole number, 1 or more, not "${"9".repeat(30)}". See --help.\n`,
    ],
    [["search", " "], "The query is empty. Describe what the tool should do. See --help.\n"],
    [["search", "a", "--server="], "The option --server needs the name of a server. See --help.\n"],
    [["search"], "Missing required positional argument: QUERY. See --help.\n"],
  ])("%j is a wrong command line", async (args, stderr) => {
    await place();
    expect(await runMain(args)).toEqual({ code: 1, stdout: "", stderr });
  });
});
