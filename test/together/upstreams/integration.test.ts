import { mkdir, mkdtemp, readdir, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { createGateway, type Gateway, type Progress, type SettledCall } from "../../../core/mod.ts";
import { audit, memorySink } from "../../../plugins/audit/mod.ts";
import { anygpt } from "../../../presets/anygpt/mod.ts";
import { getError, parseJson, readText } from "../../support/failure.ts";
import { fixture, installed, isAlive, script } from "../../support/stdio-servers.ts";

// One gateway for all tests, as a person has it: with servers of several vendors, on both lines of the SDK.
let folder: string;
let gateway: Gateway;

function openAnygpt(): Promise<Gateway> {
  return createGateway({
    preset: anygpt,
    configFile: join(folder, "config.json"),
    options: {
      [audit.pluginName]: { sink: memorySink() },
      sources: { mcpServers: servers() },
    },
  });
}

function servers(): Record<string, Record<string, unknown>> {
  const shared = join(folder, "shared");
  return {
    everything: { ...installed("@modelcontextprotocol/server-everything") },
    filesystem: { ...installed("@modelcontextprotocol/server-filesystem", shared) },
    memory: {
      ...installed("@modelcontextprotocol/server-memory"),
      env: { MEMORY_FILE_PATH: join(folder, "memory.jsonl") },
    },
    time: { ...installed("time-mcp") },
    tasks: {
      ...installed("@kazuph/mcp-taskmanager"),
      env: { TASK_MANAGER_FILE_PATH: join(folder, "tasks.json") },
    },
    graph: {
      ...installed("@itseasy21/mcp-knowledge-graph", "--memory-path", join(folder, "graph.jsonl")),
    },
    modern: { ...script(fixture("sdk-server.mjs"), "--legacy", "reject") },
  };
}

beforeAll(async () => {
  folder = await mkdtemp(join(await realpath(tmpdir()), "toolpipe-test-"));
  vi.stubEnv("TOOLPIPE_HOME", folder);
  await mkdir(join(folder, "shared"));
  await writeFile(join(folder, "shared", "note.txt"), "a line of text\n");
  gateway = await openAnygpt();
  await gateway.services.servers?.settled();
}, 30_000);

afterAll(async () => {
  await gateway.close();
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true, force: true });
});

function run(tool: string, args: object = {}): Promise<SettledCall> {
  return gateway.run({ tool, args });
}

test("all of them are connected, with every tool", () => {
  const rows = gateway.services.servers?.statuses().map(({ name, status, reason, listing }) => ({
    name,
    status,
    reason,
    tools: gateway.catalog.tools(name).length > 0,
    rejected: listing?.rejected,
  }));
  expect(rows).toEqual(
    ["everything", "filesystem", "memory", "time", "tasks", "graph", "modern"].map((name) => ({
      name,
      status: "connected",
      reason: "It is connected.",
      tools: true,
      rejected: [],
    })),
  );
});

describe("results arrive unchanged", () => {
  test("an image", async () => {
    const call = await run("everything:get-tiny-image");
    const image = call.result?.content.find(({ type }) => type === "image");
    expect(image).toMatchObject({ mimeType: "image/png" });
    const bytes = Buffer.from(String(image?.["data"]), "base64");
    expect(bytes.subarray(1, 4).toString()).toBe("PNG");
  });

  test("structured content", async () => {
    const { result } = await run("everything:get-structured-content", { location: "Chicago" });
    expect(result?.structuredContent).toEqual(JSON.parse(String(result?.content[0]?.["text"])));
    expect(result?.structuredContent).toMatchObject({ conditions: expect.any(String) });
  });

  test("resource links and annotations", async () => {
    const links = await run("everything:get-resource-links", { count: 2 });
    expect(links.result?.content.filter(({ type }) => type === "resource_link")).toHaveLength(2);
    const { result } = await run("everything:get-annotated-message", { messageType: "error" });
    expect(result?.content[0]?.["annotations"]).toEqual({ priority: 1, audience: ["user", "assistant"] });
  });

  test("a failure of the tool itself is a result", async () => {
    const call = await run("filesystem:read_text_file", { path: join(folder, "elsewhere.txt") });
    expect(call.ok).toBe(true);
    expect(call.result).toMatchObject({ isError: true, content: [{ type: "text" }] });
  });
});

describe("real servers do their work", () => {
  test("filesystem reads a file", async () => {
    const { result } = await run("filesystem:read_text_file", { path: join(folder, "shared", "note.txt") });
    expect(result?.content[0]?.["text"]).toBe("a line of text\n");
  });

  test("memory keeps what it is told, in the file its variable names", async () => {
    const entity = { name: "toolpipe", entityType: "gateway", observations: ["small"] };
    expect((await run("memory:create_entities", { entities: [entity] })).ok).toBe(true);
    expect(await readFile(join(folder, "memory.jsonl"), "utf8")).toContain('"toolpipe"');
  });

  test("servers of other vendors answer too", async () => {
    expect(readText(await run("time:current_time", { format: "YYYY-MM" }))).toMatch(/20\d\d-\d\d/);
    expect(readText(await run("graph:read_graph"))).toContain("entities");
    const planned = await run("tasks:request_planning", {
      originalRequest: "test",
      tasks: [{ title: "one", description: "first" }],
    });
    expect(readText(planned)).toContain("planned");
  });
});

describe("on the way", () => {
  test("progress reaches the caller of execute_tool", async () => {
    const seen: Progress[] = [];
    const call = await gateway.run({
      tool: "anygpt:execute_tool",
      args: {
        server: "everything",
        tool: "trigger-long-running-operation",
        arguments: { duration: 0.2, steps: 4 },
      },
      onProgress: (progress) => seen.push(progress),
    });
    expect(readText(call)).toContain("Long running operation completed");
    expect(seen.map(({ progress, total }) => [progress, total])).toEqual([
      [1, 4],
      [2, 4],
      [3, 4],
      [4, 4],
    ]);
  });

  test("a cancelled call ends at once, and the server goes on serving", async () => {
    const abort = new AbortController();
    const begun = performance.now();
    const call = gateway.run({
      tool: "everything:trigger-long-running-operation",
      args: { duration: 30, steps: 300 },
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    expect(getError(await call).code).toBe("CANCELLED");
    expect(performance.now() - begun).toBeLessThan(10_000);
    expect(readText(await run("everything:echo", { message: "still here" }))).toContain("still here");
  });
});

test("an agent finds a tool by what it does, and calls it", async () => {
  const found = parseJson(await run("anygpt:search_tools", { query: "read file contents", limit: 5 })) as {
    results: { server: string; tool: string }[];
  };
  expect(found.results.map(({ server }) => server)).toContain("filesystem");
  const args = { server: "everything", tool: "get-sum", arguments: { a: 2, b: 3 } };
  expect(readText(await run("anygpt:execute_tool", args))).toContain("5");
});

test.skipIf(process.platform !== "linux")(
  "the next gateway knows every tool before any server has started, and close leaves none",
  async () => {
    const first = gateway.catalog.tools().map(({ id, description }) => [id, description]);
    const pids = await childPids();
    expect(pids.length).toBeGreaterThanOrEqual(7);
    await gateway.close();
    expect(pids.filter(isAlive)).toEqual([]);

    gateway = await openAnygpt();
    expect(gateway.catalog.tools().map(({ id, description }) => [id, description])).toEqual(first);
    await gateway.services.servers?.settled();
    expect(gateway.services.servers?.statuses().map(({ status }) => status)).toEqual(
      Array(7).fill("disconnected"),
    );
    expect(await childPids()).toEqual([]);
    expect(readText(await run("everything:echo", { message: "hi" }))).toBe("Echo: hi");
    expect(await childPids()).toHaveLength(1);
  },
);

/** The processes that this one has started and that live. */
async function childPids(): Promise<number[]> {
  const names = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(
    names.map((name) => readFile(`/proc/${name}/stat`, "utf8").catch(() => "")),
  );
  return stats.flatMap((stat) => {
    const [state, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parent) === process.pid && state !== "Z" ? [Number.parseInt(stat, 10)] : [];
  });
}
