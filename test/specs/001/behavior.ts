import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { getError } from "../../support/failure.ts";
import { startServe } from "../../support/start-serve.ts";
import { removeFolder, writeFiles } from "../../support/temporary-folder.ts";
import { toldServer } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { configOption } from "./commands.ts";
import {
  applyRules,
  arguments_,
  ask,
  clientFile,
  countedServer,
  customFile,
  mcpServers,
  openEngine,
  run,
  toServers,
  world,
} from "./world.ts";

/** Runs something in a project of its own with these files. */
export async function inProject<T>(
  files: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  const folder = join(world.project, "..", "other");
  await mkdir(folder, { recursive: true });
  await writeFiles(folder, files);
  process.chdir(folder);
  try {
    return await work();
  } finally {
    process.chdir(world.project);
    await removeFolder(folder);
  }
}

/** A config as a module, whose one server has this name. */
export function configModule(name: string, more: object = {}): string {
  const [server] = toServers({ [name]: toldServer([{ name: "echo" }]) });
  return `export default ${JSON.stringify({ discovery: { enabled: true, servers: [server], ...more } })};`;
}

const listNames = async (): Promise<string[]> =>
  JSON.parse((await run("list", "--json")).stdout).servers.map(({ name }: { name: string }) => name);

/** Lines 903 to 973: behavior. */
export function behaviorRows({ row, prose }: Specification): void {
  prose(903, 905, 907, 914, 921, 926, 928, 931, 948, 955, 957, 963, 969);

  const home = ".anygpt/mcp-discovery.config.ts";
  row(
    "909-912",
    "The config is the project's own, else anygpt.config.ts with a discovery section, else that of the home, else empty.",
    async () => {
      await writeFiles(world.home, { [home]: configModule("of-home") });
      const [project, shared] = [configModule("of-project"), configModule("of-anygpt")];
      try {
        expect(await inProject({ [home]: project, "anygpt.config.ts": shared }, listNames)).toEqual([
          "of-project",
        ]);
        expect(await inProject({ "anygpt.config.ts": shared }, listNames)).toEqual(["of-anygpt"]);
        const other = "export default { providers: {} };";
        expect(await inProject({ "anygpt.config.ts": other }, listNames)).toEqual(["of-home"]);
        expect(await inProject({}, listNames)).toEqual(["of-home"]);
      } finally {
        await removeFolder(join(world.home, ".anygpt"));
      }
      expect((await inProject({}, () => run("list"))).code).toBe(0);
    },
  );

  row("916-919", "Every source is loaded and parsed in its format, and all are merged.", async () => {
    await writeFiles(world.project, {
      "first.json": clientFile("a", "both"),
      "second.yaml": customFile({ both: ["other"], b: ["b"] }),
    });
    const engine = await openEngine({
      sources: [
        { type: "claude-desktop", path: "./first.json" },
        { type: "custom", path: "./second.yaml" },
      ],
    });
    expect((await engine.listServers()).map(({ name }) => name)).toEqual(["a", "both", "b"]);
    expect(await engine.listTools("both")).toMatchObject([{ name: "both" }]);
  });

  row(
    "922-924",
    "The first rule that decides counts, tags of all rules add up, and disabled tools are filtered.",
    async () => {
      const rules = [
        { pattern: ["read_*"], enabled: true, tags: ["read"] },
        { pattern: ["*_file"], enabled: false, tags: ["files"] },
      ];
      const { enabled, tags } = await applyRules(rules);
      expect(enabled).toEqual(["read_file"]);
      expect(tags).toMatchObject({ read_file: ["read", "files"], write_file: ["files"] });
    },
  );

  row(
    "933-945",
    "From a search, whose first result is the tool, to details to the call of the tool.",
    async () => {
      const { results } = (await ask("search_tools", { query: "github issue" })) as { results: JsonObject[] };
      expect(results[0]).toMatchObject({ server: "github", tool: "create_issue" });
      expect(results[0]?.["relevance"]).toBeGreaterThan(0.8);
      const details = await ask("get_tool_details", { server: "github", tool: "create_issue" });
      expect(details).toMatchObject({
        description: expect.stringContaining("Create a new GitHub issue"),
        parameters: [{}, {}, {}],
      });
      expect(await world.engine.executeTool("github", "create_issue", arguments_)).toMatchObject({
        success: true,
      });
    },
  );

  row(
    "950",
    "What servers list is cached for an hour by default, and asked for again after that.",
    async () => {
      expect((await run("config", "show")).stdout).toContain("Cache: Enabled (TTL: 3600s)");
      const { entry, count } = await countedServer("ttl");
      const option = (ttl: number) => configOption("ttl", { mcpServers: { counted: entry }, cache: { ttl } });
      for (let round = 0; round < 2; round++)
        expect((await run("tools", "counted", await option(3600))).stdout).toContain("counted_tool");
      expect(await count()).toBe(1);
      expect((await run("tools", "counted", await option(0.001))).stdout).toContain("counted_tool");
      expect(await count()).toBe(2);
    },
  );
  row("951", "Tools are cached by server, and listed anew when a server is connected anew.", async () => {
    const { entry, count, change } = await countedServer("reconnect");
    const option = await configOption("reconnect", { mcpServers: { counted: entry } });
    await run("tools", "counted", option);
    await change("other_tool");
    expect((await run("tools", "counted", option)).stdout).toContain("counted_tool");
    expect(await count()).toBe(1);
    const call = await run("execute", "counted", "counted_tool", "--json", option);
    expect(JSON.parse(call.stdout)).toMatchObject({ success: true });
    expect((await run("tools", "counted", option)).stdout).toContain("other_tool");
  });
  row("952", "Details of a tool are cached: they are given without its server.", async () => {
    const { entry, count } = await countedServer("details");
    const option = await configOption("details", { mcpServers: { counted: entry } });
    const inspect = () => run("inspect", "counted", "counted_tool", "--json", option);
    const first = JSON.parse((await inspect()).stdout);
    expect(first).toMatchObject({ tool: "counted_tool", description: "Counts" });
    expect(JSON.parse((await inspect()).stdout)).toEqual(first);
    expect(await count()).toBe(1);
  });
  row("953", "A search sees a change of the catalog at once.", async () => {
    const engine = await openEngine({ servers: [] });
    await engine.gateway.catalog.replace({ id: "x" }, [{ name: "first", inputSchema: {} }]);
    expect((await engine.searchTools("second")).map(({ tool }) => tool)).not.toContain("second");
    await engine.gateway.catalog.replace({ id: "x" }, [{ name: "second", inputSchema: {} }]);
    expect(await engine.searchTools("second")).toMatchObject([{ tool: "second" }]);
  });

  row("959-960", "A server that cannot be reached is disconnected, and the others go on.", async () => {
    const engine = await openEngine({
      servers: toServers({ gone: { command: "/nowhere/x" }, files: mcpServers["filesystem"] as JsonObject }),
    });
    expect(await engine.executeTool("files", "read_file", { path: "a" })).toMatchObject({ success: true });
    expect(await engine.executeTool("gone", "x", {})).toMatchObject({ success: false });
    expect(await engine.listServers()).toMatchObject([
      { name: "gone", status: "disconnected", reason: expect.stringContaining("could not be started") },
      { name: "files", status: "connected" },
    ]);
  });
  row("961", "A failed connection is one line on standard error.", async () => {
    const gone = { command: "/nowhere/gone" };
    const text = JSON.stringify({ mcpServers: { gone, files: mcpServers["filesystem"] } });
    await inProject({ "toolpipe.config.json": text }, async () => {
      const serving = startServe(["--config", "toolpipe.config.json"], { env: process.env });
      await serving.line('"gone"');
      await serving.request("tools/call", { name: "list_tools", arguments: { server: "files" } });
      expect(serving.errors.filter((line) => line.includes("gone"))).toEqual([
        'toolpipe: The server "gone": The command "gone" could not be started: it was not found.',
      ]);
      serving.child.stdin?.end();
      await serving.exit;
    });
  });

  row(
    "965-967",
    "An unknown tool is answered with a message, similar tools and those of the server.",
    async () => {
      const args = { server: "filesystem", tool: "raed_file", arguments: {} };
      const error = getError(await world.engine.gateway.run({ tool: "anygpt:execute_tool", args }));
      expect(error.message).toContain('no tool "filesystem:raed_file"');
      expect(error.message).toContain("read_file");
      expect(error.message).toContain("list_directory");
    },
  );
  row("971-972", "A config is checked when it is loaded, and the message names what is wrong.", async () => {
    const option = await configOption("wrong", { toolRules: [{ pattern: "x" }] });
    const { code, stderr, stdout } = await run("list", option);
    expect(code).toBe(2);
    expect(stderr + stdout).toContain("toolRules");
  });
  row("973", "Without a config, defaults hold.", async () => {
    expect(await inProject({}, () => run("config", "show"))).toMatchObject({
      code: 0,
      stdout: expect.stringContaining("Cache: Enabled (TTL: 3600s)"),
    });
  });
}
