import { mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { connectStdio } from "../../../../plugins/mcp/stdio/connect.ts";
import { upstreamContract } from "../../../contracts/upstream.ts";
import { faulty, fixture, installed, readText, script } from "../../../support/stdio-servers.ts";
import { connected } from "../_stdio.ts";

const sdkServer = fixture("sdk-server.mjs");
const servers = {
  "stdio, raw, legacy protocol": faulty("ok"),
  "stdio, raw, modern protocol only": faulty("modern"),
  "stdio, the official library, both protocols": script(sdkServer, "--legacy", "serve"),
  "stdio, the official library, modern protocol only": script(sdkServer, "--legacy", "reject"),
};
for (const [name, connection] of Object.entries(servers)) {
  upstreamContract(name, (events) => connectStdio(connection, { name: "contract", events }));
}

async function folder(): Promise<string> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "toolpipe-")));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

describe("real servers", () => {
  test("server-everything: tools, prompts, resources, progress and structured content", async () => {
    await using upstream = await connected(installed("@modelcontextprotocol/server-everything"));
    const listing = await upstream.list();
    expect(listing.rejected).toEqual([]);
    expect(listing.tools.length).toBeGreaterThan(10);
    expect(listing.prompts.length).toBeGreaterThan(0);
    expect(listing.resources.length).toBeGreaterThan(0);
    expect(listing.resourceTemplates.length).toBeGreaterThan(0);
    expect(readText(await upstream.call("echo", { message: "hi" }))).toBe("Echo: hi");
    expect(readText(await upstream.call("get-sum", { a: 2, b: 40 }))).toContain("42");
    const weather = await upstream.call("get-structured-content", { location: "New York" });
    expect(weather.structuredContent).toMatchObject({ conditions: expect.any(String) });
    let steps = 0;
    await upstream.call(
      "trigger-long-running-operation",
      { duration: 0.1, steps: 2 },
      { onProgress: () => steps++ },
    );
    expect(steps).toBe(2);
  });

  test("server-filesystem: reads and writes a file", async () => {
    const root = await folder();
    await writeFile(join(root, "a.txt"), "contents of a");
    await using upstream = await connected(installed("@modelcontextprotocol/server-filesystem", root));
    const { tools } = await upstream.list();
    expect(tools.map((tool) => tool.name)).toContain("read_text_file");
    expect(readText(await upstream.call("read_text_file", { path: join(root, "a.txt") }))).toBe(
      "contents of a",
    );
    const outside = await upstream.call("read_text_file", { path: "/etc/hostname" });
    expect(outside.isError).toBe(true);
  });

  test("server-memory: keeps its file where the definition's environment says", async () => {
    const file = join(await folder(), "memory.jsonl");
    const connection = {
      ...installed("@modelcontextprotocol/server-memory"),
      env: { MEMORY_FILE_PATH: file },
    };
    await using upstream = await connected(connection);
    const entities = [{ name: "toolpipe", entityType: "project", observations: ["connects servers"] }];
    await upstream.call("create_entities", { entities });
    const found = await upstream.call("search_nodes", { query: "toolpipe" });
    expect(readText(found)).toContain("connects servers");
  });

  test("time-mcp: works in spite of what else it prints", async () => {
    await using upstream = await connected(installed("time-mcp"));
    const { tools } = await upstream.list();
    expect(tools.map((tool) => tool.name)).toContain("current_time");
    const now = await upstream.call("current_time", { format: "YYYY-MM-DD", timezone: "UTC" });
    expect(readText(now)).toContain(String(new Date().getUTCFullYear()));
    expect(upstream.health().degraded).toBe(false);
  });

  test("@kazuph/mcp-taskmanager: plans a request", async () => {
    const file = join(await folder(), "tasks.json");
    const connection = { ...installed("@kazuph/mcp-taskmanager"), env: { TASK_MANAGER_FILE_PATH: file } };
    await using upstream = await connected(connection);
    const { tools } = await upstream.list();
    expect(tools.map((tool) => tool.name)).toContain("request_planning");
    const planned = await upstream.call("request_planning", {
      originalRequest: "test it",
      tasks: [{ title: "one", description: "the first" }],
    });
    expect(readText(planned)).toContain("planned");
  });

  test("@itseasy21/mcp-knowledge-graph: reads its graph", async () => {
    const file = join(await folder(), "graph.jsonl");
    const server = installed("@itseasy21/mcp-knowledge-graph", "--memory-path", file);
    await using upstream = await connected(server);
    const { tools } = await upstream.list();
    expect(tools.map((tool) => tool.name)).toContain("read_graph");
    expect(JSON.parse(readText(await upstream.call("read_graph", {})))).toEqual({
      entities: [],
      relations: [],
    });
  });
});
