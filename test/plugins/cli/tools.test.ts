import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { dead, faulty, place, real, write } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { boxFolder } from "./_box.ts";

/** A project with a real server whose tools that delete are disabled. */
async function withMemory(): Promise<void> {
  const { project } = await place();
  await write(project, {
    "toolpipe.config.json": {
      mcpServers: { memory: real.memory(join(project, "memory.json")) },
      toolRules: [
        { pattern: ["*delete*"], enabled: false, tags: ["dangerous"] },
        { pattern: ["*_entities"], tags: ["graph"] },
      ],
    },
  });
}

describe("tools", () => {
  test("prints the enabled tools of a server as the specification shows them", async () => {
    await withMemory();
    const { code, stdout, stderr } = await runMain(["tools", "memory"]);
    expect(stdout).toMatch(
      /^Tools from memory \(6 enabled, 3 disabled\):\n\n✓ create_entities\n {2}Create multiple/,
    );
    expect(stdout.match(/^✓ /gm)).toHaveLength(6);
    expect(stdout).not.toContain("delete");
    expect(stdout).not.toContain("Tags:");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  test("--all includes disabled tools, and --tags shows tags", async () => {
    await withMemory();
    const { stdout } = await runMain(["tools", "memory", "--all", "--tags"]);
    expect(stdout).toMatch(/^Tools from memory \(6 enabled, 3 disabled\):\n/);
    expect(stdout).toMatch(
      /\n\n✗ delete_entities \(disabled\)\n {2}Delete .*\n {2}Tags: dangerous, graph\n\n/,
    );
    expect(stdout).toMatch(/\n\n✓ create_entities\n {2}Create .*\n {2}Tags: graph\n\n/);
    expect(stdout).toMatch(/\n\n✓ read_graph\n {2}Read .*\n\n/);
    expect(stdout.match(/^[✓✗] /gm)).toHaveLength(9);
  });

  test("prints JSON in the shape of the specification", async () => {
    await withMemory();
    const enabled = JSON.parse((await runMain(["tools", "memory", "--json"])).stdout);
    expect(enabled.tools).toHaveLength(6);
    expect(enabled).toMatchObject({
      server: "memory",
      tools: expect.arrayContaining([
        {
          name: "create_relations",
          summary: "Create multiple new relations between entities in the knowledge graph.",
          enabled: true,
          tags: [],
        },
      ]),
    });
    const all = JSON.parse((await runMain(["tools", "memory", "--all", "--json"])).stdout);
    expect(all.tools).toHaveLength(9);
    expect(all.tools).toContainEqual(
      expect.objectContaining({ name: "delete_entities", enabled: false, tags: ["dangerous", "graph"] }),
    );
  });

  test("lists the tools of every server by server, and says of a dead one why there are none", async () => {
    await place({
      project: {
        "toolpipe.config.json": {
          plugins: ["toolpipe/plugins/demo"],
          mcpServers: { one: faulty(), gone: dead },
        },
      },
    });
    const { code, stdout } = await runMain(["tools"]);
    expect(stdout).toMatch(
      /^Tools from demo \(3 enabled, 0 disabled\):\n\n✓ add\n {2}Adds two numbers\.\n\n/m,
    );
    expect(stdout).toMatch(
      /^Tools from one \(\d+ enabled, 0 disabled\):\n\n✓ echo\n {2}Says what it is told\n\n✓ fail\n\n/m,
    );
    expect(stdout).toMatch(/\n\nTools from gone \(not known\):\n\n {2}The command .*it was not found\.\n/);
    expect(code).toBe(0);
    const json = JSON.parse((await runMain(["tools", "--json"])).stdout);
    expect(
      json.servers.map(({ server, tools }: { server: string; tools: unknown[] }) => [server, tools.length]),
    ).toEqual(
      expect.arrayContaining([
        ["demo", 3],
        ["one", expect.any(Number)],
        ["gone", 0],
      ]),
    );
  });

  test("--all names a tool that could not be taken in", async () => {
    await place({ project: { "toolpipe.config.json": { mcpServers: { one: faulty("onebadtool") } } } });
    const left = "✗ bad (left out: its inputSchema is not an object)";
    expect((await runMain(["tools", "one", "--all"])).stdout).toContain(`\n\n${left}\n`);
    expect((await runMain(["tools", "one"])).stdout).not.toContain("bad");
  });

  test("fails with the reason where a server cannot be asked", async () => {
    await place({
      project: {
        "toolpipe.config.json": { mcpServers: { gone: dead, off: { ...faulty(), disabled: true } } },
      },
    });
    const gone = await runMain(["tools", "gone"]);
    expect(gone).toMatchObject({ code: 3, stdout: "" });
    expect(gone.stderr).toMatch(
      /^The server "gone" cannot be used\. The command [^\n]*it was not found\.\n$/,
    );
    const off = await runMain(["tools", "off"]);
    expect(off).toMatchObject({ code: 3, stdout: "" });
    expect(off.stderr).toMatch(/^The server "off" cannot be used\. It is switched off in [^\n]*\n$/);
  });

  test("names the server that was probably meant", async () => {
    await place();
    const { config } = await boxFolder();
    expect(await runMain(["tools", "dmeo", "--config", config])).toEqual({
      code: 2,
      stdout: "",
      stderr: `There is no server "dmeo"; did you mean "demo"? The servers are demo, box.\n`,
    });
  });

  test("does not list the meta-tools, nor takes their server for one", async () => {
    await place();
    const { config } = await boxFolder();
    expect((await runMain(["tools", "--config", config])).stdout).not.toContain("search_tools");
    expect((await runMain(["tools", "anygpt", "--config", config])).code).toBe(2);
  });

  test("names the next step where there are no servers", async () => {
    await place({ project: { "empty.json": {} } });
    const { code, stdout } = await runMain(["tools", "--config", "empty.json"]);
    expect(stdout).toMatch(/^There are no servers in .*empty\.json\. .*mcpServers.*\n$/);
    expect(code).toBe(0);
    expect((await runMain(["tools", "--json", "--config", "empty.json"])).stdout).toBe('{"servers":[]}\n');
  });
});
