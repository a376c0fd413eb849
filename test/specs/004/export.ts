import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, expect } from "vitest";
import type { Gateway, JsonObject } from "../../../core/mod.ts";
import { getError, parseJson } from "../../support/failure.ts";
import { runMain } from "../../support/run-cli.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { openForAll } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { githubTools, startServer, type ToolServer } from "./server.ts";
import { gatewayOptions, local, remote, world } from "./world.ts";

const files = githubTools.map(({ name }) => `${name}.rtfs`).toSorted();

/** Lists the files of a folder in the current one; none if it is not there. */
async function listFiles(...folder: string[]): Promise<readonly string[]> {
  return (await readdir(join(process.cwd(), ...folder)).catch(() => [])).toSorted();
}

/** Lines 392 to 444: files of capabilities, and their approval. */
export function exportRows({ row, added, prose }: Specification): void {
  prose(392, 396, 406, 416, 426);

  row(
    "394, 399-403",
    "Discovered tools are written as capabilities of RTFS, to the folder that is named.",
    async () => {
      const options = { exportToRtfs: true, exportDirectory: "capabilities/servers/pending" };
      await world.service.discoverTools(remote("exported", world.github.url), options);
      const folder = ["capabilities", "servers", "pending", "exported"];
      expect(await listFiles(...folder)).toEqual(files);
      const text = await readFile(join(process.cwd(), ...folder, "list_issues.rtfs"), "utf8");
      expect(text).toMatch(/^\(capability :mcp\.exported\.list_issues\n/);
    },
  );
  row("409-413", "A server has a folder of its own, and each tool a file.", async () => {
    const exportDirectory = await temporaryFolder();
    await world.service.discoverTools(world.config, { exportToRtfs: true, exportDirectory });
    expect(await readdir(exportDirectory)).toEqual(["github"]);
    expect((await readdir(join(exportDirectory, "github"))).toSorted()).toEqual(files);
  });

  // An agent finds a server, the user approves it, and the agent adds it: each row shows a part of this.
  const story = {} as { server: ToolServer; gateway: Gateway; introspected: JsonObject };
  const ask = async (tool: string, args: JsonObject) => story.gateway.run({ tool: `ccos:${tool}`, args });
  const run = (tool: string) =>
    story.gateway.run({ tool: `tracker:${tool}`, args: { owner: "a", repo: "b" } });
  beforeAll(async () => {
    const server = await startServer();
    const gateway = await openForAll(gatewayOptions({ mcpServers: { local }, tools: true }));
    Object.assign(story, { server, gateway });
    const answer = await ask("ccos_introspect_remote_api", { url: server.url, name: "tracker" });
    story.introspected = parseJson(answer) as JsonObject;
  });

  row("418", "What waits in the folder pending is not loaded, and cannot be called.", async () => {
    expect(await listFiles("capabilities", "servers", "pending", "tracker")).toEqual(files);
    expect(story.gateway.catalog.tools("tracker")).toEqual([]);
    expect((await run("list_issues")).ok).toBe(false);
    expect(story.server.count("tools/call")).toBe(0);
  });
  row("420", "ccos_introspect_remote_api finds the tools of a server, and requests approval.", async () => {
    expect(story.introspected).toMatchObject({ server: "tracker", status: "pending" });
    expect(story.introspected["tools"]).toHaveLength(3);
    const { stdout } = await runMain(["approve", "--json"]);
    const { introspected } = JSON.parse(stdout) as { introspected: { name: string; tools: unknown[] }[] };
    expect(introspected.find(({ name }) => name === "tracker")?.tools).toHaveLength(3);
  });
  added(
    "420",
    "The tools for agents are there only where the config says so, and reach into no private network.",
    "An agent that adds servers is a decision of the user, and an agent can be talked into any URL.",
    async () => {
      expect(world.gateway.catalog.tools("ccos")).toEqual([]);
      const options = gatewayOptions({ tools: true, allowPrivate: false });
      const gateway = await openForAll(options);
      const args = { url: story.server.url.replace("http:", "https:") };
      const refused = getError(await gateway.run({ tool: "ccos:ccos_introspect_remote_api", args }));
      expect(refused.code).toBe("SSRF_BLOCKED");
    },
  );
  row("421", "The user reviews the files before approving: an edited file is not approved.", async () => {
    const folder = join(process.cwd(), "capabilities", "servers", "pending", "tracker");
    const file = join(folder, "list_issues.rtfs");
    const text = await readFile(file, "utf8");
    expect(text).toContain(`:server-url "${story.server.url}"`);
    await writeFile(file, `${text};`);
    const { code, stderr } = await runMain(["approve", "tracker"]);
    expect([code, stderr]).toEqual([4, expect.stringContaining(file)]);
    await writeFile(file, text);
  });
  row(
    "422",
    "ccos_register_server adds the server once the user has approved it, and not before.",
    async () => {
      const refused = getError(await ask("ccos_register_server", { server: "tracker" }));
      expect(refused.code).toBe("NEEDS_APPROVAL");
      expect(refused.message).toContain("toolpipe approve tracker");
      expect(story.gateway.catalog.tools("tracker")).toEqual([]);
      expect(await runMain(["approve", "tracker"])).toMatchObject({ code: 0, stderr: "" });
      expect(parseJson(await ask("ccos_register_server", { server: "tracker" }))).toMatchObject({
        server: "tracker",
        status: "registered",
      });
    },
  );
  row("423", "Approval moves the files from pending to approved.", async () => {
    expect(await listFiles("capabilities", "servers", "pending", "tracker")).toEqual([]);
    expect(await listFiles("capabilities", "servers", "approved", "tracker")).toEqual(files);
  });
  row("424", "The approved tools are registered, and can be called.", async () => {
    const ids = story.gateway.catalog.tools("tracker").map(({ id }) => id);
    expect(ids).toEqual(githubTools.map(({ name }) => `tracker:${name}`));
    expect(await run("list_issues")).toMatchObject({ ok: true });
    expect(story.server.count("tools/call")).toBe(1);
  });
  added(
    "423",
    "An export of an approved server is written beside its approved files, and of others to pending.",
    "The folder says what may be called.",
    async () => {
      const { code, stdout } = await runMain(["export", "tracker", "--json"]);
      expect(code).toBe(0);
      const approved = join(process.cwd(), "capabilities", "servers", "approved", "tracker");
      expect(JSON.parse(stdout)).toMatchObject({ exported: [{ server: "tracker", folder: approved }] });
      expect(await listFiles("capabilities", "servers", "pending", "tracker")).toEqual([]);
    },
  );

  row("429-444", "The file of a capability has the form of the example, to the letter.", async () => {
    const exportDirectory = await temporaryFolder();
    await world.service.discoverTools(world.config, {
      introspectOutputSchemas: true,
      lazyOutputSchemas: false,
      exportToRtfs: true,
      exportDirectory,
    });
    const text = await readFile(join(exportDirectory, "github", "list_issues.rtfs"), "utf8");
    expect(
      text.replace(world.github.url, "https://api.github.com/mcp"),
    ).toBe(`(capability :mcp.github.list_issues
  :version "1.0.0"
  :description "List issues in a GitHub repository"
  :input-schema [:map
    [:owner :string]
    [:repo :string]
    [:state {:optional true} :string]]
  :output-schema [:vector [:map
    [:id :int]
    [:title :string]
    [:state :string]]]
  :provider {:type :mcp
             :server-url "https://api.github.com/mcp"
             :tool-name "list_issues"}
  :domains ["github" "github.issues"]
  :categories ["crud.read"])
`);
  });
  added(
    "429",
    "Signs that an id cannot have become _, and a hash follows only where two ids would be the same.",
    "Ids are read by people, and must still be told apart.",
    async () => {
      const names = ["list.things", "get item", "get_item"];
      const server = await startServer({ tools: names.map((name) => ({ name })) });
      const config = remote("My Tracker", server.url);
      const tools = await world.service.discoverTools(config);
      const ids = tools.map((tool) => world.service.toolToManifest(tool, config).id);
      expect(ids[0]).toBe("mcp.My_Tracker.list_things");
      expect(ids[1]).toMatch(/^mcp\.My_Tracker\.get_item_[0-9a-f]{12}$/);
      expect(new Set(ids).size).toBe(3);
    },
  );
}
