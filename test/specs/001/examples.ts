import { expect } from "vitest";
import { writeFiles } from "../../support/temporary-folder.ts";
import { toldServer } from "../shared.ts";
import type { Specification } from "../specification.ts";
import { customFile, openEngine, world } from "./world.ts";

const tools = {
  github: ["create_issue", "update_issue", "delete_issue", "create_pr", "star_repo"],
  filesystem: ["read_file", "list_directory", "get-info", "write_file", "remove_file", "destroy_disk"],
};
const told = (names: readonly string[]) => toldServer(names.map((name) => ({ name })));
const docker = [{ type: "docker-mcp", path: "~/.docker/mcp-servers.json" }];

const claude = "Library/Application Support/Claude/claude_desktop_config.json";
const threeSources = [
  ...docker,
  { type: "claude-desktop", path: `~/${claude}` },
  { type: "custom", path: "./my-mcp-servers.yaml" },
];
const selective = [
  { server: "github", pattern: ["*issue*"], enabled: true, tags: ["github", "issues"] },
  { server: "filesystem", pattern: ["*read*", "*list*"], enabled: true, tags: ["filesystem", "safe"] },
  { pattern: ["*delete*", "*remove*", "*rm*"], enabled: false, tags: ["dangerous"] },
];
const several = [
  { pattern: ["*"], enabled: true },
  { pattern: ["*delete*", "*destroy*"], enabled: false },
];
const expressions = [
  { server: "github", pattern: ["/^(create|update)_/"], enabled: true, tags: ["github", "write"] },
  {
    server: "filesystem",
    pattern: ["/\\b(read|list|get)\\b/i"],
    enabled: true,
    tags: ["filesystem", "read"],
  },
  { pattern: ["/(delete|remove|destroy)/i"], enabled: false, tags: ["dangerous"] },
];

/** The configs of the four examples, without their switch. */
export const exampleConfigs: readonly {
  readonly sources: readonly object[];
  readonly toolRules: readonly object[];
}[] = [
  { sources: docker, toolRules: [{ pattern: ["*"], enabled: true }] },
  { sources: docker, toolRules: selective },
  { sources: threeSources, toolRules: several },
  { sources: docker, toolRules: expressions },
];

/** Opens an engine on a config of the specification, and returns the enabled tools of each server. */
async function enable(config: object): Promise<Record<string, string[]>> {
  await writeFiles(world.home, {
    ".docker/mcp-servers.json": JSON.stringify({
      mcpServers: { github: told(tools.github), filesystem: told(tools.filesystem) },
    }),
  });
  const engine = await openEngine(config);
  const servers = (await engine.listServers()).map(({ name }) => name);
  const rows: Record<string, string[]> = {};
  for (const name of servers) rows[name] = (await engine.listTools(name)).map((tool) => tool.name);
  return rows;
}

/** Lines 1194 to 1299: examples of configs. */
export function exampleRows({ row, differs, prose }: Specification): void {
  prose(1194, 1196, 1199, 1212, 1241, 1271);

  row("1200-1210", "One source and a rule for everything: all tools of the source.", async () => {
    expect(await enable({ sources: docker, toolRules: [{ pattern: ["*"], enabled: true }] })).toEqual(tools);
  });

  row("1215-1236", "Rules for servers enable what they match, and nothing else.", async () => {
    const { github, filesystem } = await enable({ sources: docker, toolRules: selective });
    expect(filesystem).toEqual(["read_file", "list_directory"]);
    expect(github).toEqual(expect.arrayContaining(["create_issue", "update_issue"]));
    expect(github).not.toContain("star_repo");
  });
  differs(
    "1239",
    "Dangerous operations are blocked.",
    'The first rule that matches decides, so delete_issue is enabled by the rule before; conflict: "deny-wins" blocks it.',
    async () => {
      expect((await enable({ sources: docker, toolRules: selective }))["github"]).toContain("delete_issue");
      const rules = { rules: selective, conflict: "deny-wins" };
      expect((await enable({ sources: docker, toolRules: rules }))["github"]).toEqual([
        "create_issue",
        "update_issue",
      ]);
    },
  );

  async function fromSeveral(toolRules: unknown): Promise<Record<string, string[]>> {
    await writeFiles(world.home, { [claude]: JSON.stringify({ mcpServers: { desk: told(["desk_tool"]) } }) });
    await writeFiles(world.project, {
      "my-mcp-servers.yaml": customFile({ own: ["own_tool", "destroy_all"] }),
    });
    return enable({ sources: threeSources, toolRules });
  }
  row("1244-1257, 1269", "Tools of three sources are merged.", async () => {
    expect(Object.keys(await fromSeveral(several))).toEqual(["github", "filesystem", "desk", "own"]);
  });
  differs(
    "1259-1266",
    "A rule for everything first, and one that disables after it.",
    'The first rule that matches decides, so the second is shadowed, which validate says; conflict: "deny-wins" makes it count.',
    async () => {
      expect((await fromSeveral(several))["own"]).toEqual(["own_tool", "destroy_all"]);
      expect((await fromSeveral({ rules: several, conflict: "deny-wins" }))["own"]).toEqual(["own_tool"]);
    },
  );

  row("1274-1285, 1293-1296, 1299", "Rules of regular expressions.", async () => {
    const { github, filesystem } = await enable({ sources: docker, toolRules: expressions });
    expect(github).toEqual(["create_issue", "update_issue", "create_pr"]);
    expect(filesystem).not.toContain("remove_file");
  });
  differs(
    "1287-1291",
    "A word boundary finds the reading tools of a file system.",
    "There is no boundary between a letter and _, so only names like get-info match; the rule is named in validate, with the pattern that would work.",
    async () => {
      expect((await enable({ sources: docker, toolRules: expressions }))["filesystem"]).toEqual(["get-info"]);
    },
  );
}
