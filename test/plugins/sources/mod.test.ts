import { join } from "node:path";
import { expect, test } from "vitest";
import { createGateway } from "../../../core/mod.ts";
import { clientNames, type Machine, type SourcesOptions, sources } from "../../../plugins/sources/mod.ts";
import { writeFiles } from "../../support/temporary-folder.ts";
import { createMachine, fixture, mcpServers } from "./_machine.ts";

async function collected(options: SourcesOptions & { machine: Machine }) {
  const gateway = await createGateway({ plugins: [sources(options)] });
  const result = await gateway.services.sources?.collect();
  await gateway.close();
  if (!result) throw new Error("There is no service.");
  return result;
}

test("no client is asked unless it is named, and all of them can be", async () => {
  const machine = await createMachine({
    "home/.cursor/mcp.json": mcpServers({ a: { command: "a" } }),
    "home/.kimi/mcp.json": mcpServers({ b: { command: "b" } }),
  });
  expect((await collected({ machine })).files).toEqual([]);
  const { servers, files } = await collected({ machine, clients: "all" });
  expect(servers.map(({ name }) => name).toSorted()).toEqual(["a", "b"]);
  expect(new Set(files.map(({ source }) => source))).toEqual(new Set(clientNames));
});

test("only the clients that are named are asked", async () => {
  const machine = await createMachine({
    "home/.cursor/mcp.json": mcpServers({ a: { command: "a" } }),
    "home/.kimi/mcp.json": mcpServers({ b: { command: "b" } }),
  });
  expect((await collected({ machine, clients: ["kimi"] })).servers.map(({ name }) => name)).toEqual(["b"]);
  expect((await collected({ machine, clients: [] })).files).toEqual([]);
});

test("servers and files of the config come before those of clients", async () => {
  const machine = await createMachine({
    "home/.cursor/mcp.json": mcpServers({ a: { command: "of-client" }, b: { command: "of-client" } }),
    "project/own.yaml": await fixture("custom.yaml"),
  });
  const { servers } = await collected({
    machine,
    clients: "all",
    sources: [{ type: "custom", path: "./own.yaml" }],
    servers: [{ name: "a", connection: { type: "stdio", command: "of-config" } }],
    mcpServers: { c: { url: "https://c.example/mcp" } },
  });
  expect(servers.map(({ name, origin }) => `${name} ${origin.source} ${origin.scope}`)).toEqual([
    "a inline config",
    "c inline config",
    "github custom config",
    "b cursor user",
  ]);
});

test("reads sources again on request", async () => {
  const machine = await createMachine();
  const gateway = await createGateway({ plugins: [sources({ machine, clients: ["cursor"] })] });
  const names = async () => (await gateway.services.sources?.collect())?.servers.map(({ name }) => name);
  expect(await names()).toEqual([]);
  await writeFiles(join(machine.home, ".cursor"), { "mcp.json": mcpServers({ a: { command: "a" } }) });
  expect(await names()).toEqual(["a"]);
  await gateway.close();
});

test.for([
  [{ clients: ["cursr"] }, 'The plugin "sources" has a wrong option: clients'],
  [{ sources: [{ type: "nothing", path: "x" }] }, "sources.0.type: expected"],
  [{ sources: [{ type: "custom" }] }, "sources.0.path: expected"],
  [{ servers: [{ command: "x" }] }, "servers.0.name: expected"],
  [{ mcpServers: { a: "npx a" } }, "mcpServers.a: expected"],
] as const)("a wrong option is told: %j", ([options, message]) => {
  expect(() => sources(options as unknown as SourcesOptions)).toThrow(message);
});
