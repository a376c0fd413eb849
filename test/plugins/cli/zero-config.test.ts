import { join } from "node:path";
import { expect, test } from "vitest";
import { faulty, place, real } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { startServe } from "../../support/start-serve.ts";

/** The names of the servers that are listed. */
async function listed(...args: string[]): Promise<string[]> {
  const { servers } = JSON.parse((await runMain(["list", "--json", ...args])).stdout);
  return servers.map(({ name }: { name: string }) => name);
}

test("without a config, a user's own servers are there at once", async () => {
  await place({
    home: {
      ".cursor/mcp.json": { mcpServers: { time: real.time } },
      ".codeium/windsurf/mcp_config.json": { mcpServers: { one: faulty() } },
    },
  });
  expect((await listed()).toSorted()).toEqual(["one", "time"]);
  expect((await runMain(["list"])).stdout).not.toContain("Needs approval");
  expect((await runMain(["execute", "one", "echo", "--args", '{"text":"mine"}'])).stdout).toContain(
    "  mine\n",
  );
});

test.each([
  ["found in the folder", []],
  ["given by name", ["--config", "own.json"]],
])("with a config %s, nothing else is imported", async (_how, args) => {
  const config = { mcpServers: { own: faulty() } };
  await place({
    home: { ".cursor/mcp.json": { mcpServers: { mine: faulty() } } },
    project: {
      ".mcp.json": { mcpServers: { theirs: faulty() } },
      [args.length > 0 ? "own.json" : "toolpipe.config.json"]: config,
    },
  });
  expect(await listed(...args)).toEqual(["own"]);
});

test("a config can ask for the servers of clients", async () => {
  await place({
    home: {
      ".cursor/mcp.json": { mcpServers: { mine: faulty() } },
      ".codeium/windsurf/mcp_config.json": { mcpServers: { other: faulty() } },
    },
    project: {
      "toolpipe.config.json": {
        mcpServers: { own: faulty() },
        options: { sources: { clients: ["cursor"] } },
      },
    },
  });
  // The very same server by another name is one server.
  const { stdout } = await runMain(["config", "sources"]);
  expect(stdout).toContain("cursor (");
  expect(stdout).not.toContain("windsurf (");
});

test("keeps state in TOOLPIPE_HOME, and nowhere in the home or the project", async () => {
  const { home, project, state } = await place({
    project: { ".mcp.json": { mcpServers: { one: faulty() } } },
  });
  await runMain(["approve", "one"]);
  const { readdir } = await import("node:fs/promises");
  expect((await readdir(state)).toSorted()).toEqual(["cache", "state"]);
  expect(await readdir(home)).toEqual([]);
  expect(await readdir(project)).toEqual([".mcp.json"]);
  expect(join(state, "state")).not.toContain(home);
});

test("a client gets the user's own config, also where the folder has one without approval", async () => {
  const { home } = await place({
    home: {
      ".cursor/mcp.json": { mcpServers: { imported: faulty() } },
    },
    project: { "toolpipe.config.json": { mcpServers: { theirs: faulty() } } },
  });
  const { mkdir, writeFile } = await import("node:fs/promises");
  const file = join(home, ".config", "toolpipe", "toolpipe.config.json");
  await mkdir(join(file, ".."), { recursive: true });
  await writeFile(file, JSON.stringify({ mcpServers: { mine: faulty() } }));
  const { TOOLPIPE_HOME: _state, ...env } = process.env;
  const serving = startServe([], { env: { ...env, HOME: home, XDG_CONFIG_HOME: join(home, ".config") } });
  await serving.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  });
  const { result } = await serving.request("tools/call", { name: "list_mcp_servers", arguments: {} });
  expect(JSON.stringify(result)).toContain("mine");
  expect(JSON.stringify(result)).not.toMatch(/imported|theirs/);
  expect(await serving.line("is not used")).toContain("toolpipe approve --file");
});
