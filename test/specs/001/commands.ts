import { copyFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { writeFiles } from "../../support/temporary-folder.ts";
import type { Specification } from "../specification.ts";
import { mcpServers, run, world } from "./world.ts";

/** Writes a config of its own for a row, and returns the option that chooses it. */
export async function configOption(name: string, config: object): Promise<string> {
  await writeFiles(world.project, { [`${name}.json`]: JSON.stringify(config) });
  return `--config=${name}.json`;
}

/** Runs commands, and expects their exit codes. */
export async function expectCodes(codes: readonly (readonly [number, ...string[]])[]): Promise<void> {
  const found: [number | null, ...string[]][] = [];
  for (const [, ...line] of codes) found.push([(await run(...line)).code, ...line]);
  expect(found).toEqual(codes);
}

/** Lines 549 to 751: the commands list, search, tools and inspect. */
export function commandRows({ row, prose }: Specification): void {
  prose(
    549,
    551,
    555,
    561,
    567,
    585,
    591,
    595,
    601,
    607,
    610,
    613,
    616,
    620,
    638,
    644,
    648,
    654,
    660,
    663,
    666,
    669,
    673,
    691,
    697,
    701,
    707,
    712,
    715,
    718,
    722,
    747,
  );

  row("553, 558", "list names every configured server.", async () => {
    const { code, stdout } = await run("list");
    expect(code).toBe(0);
    for (const name of Object.keys(mcpServers)) expect(stdout).toContain(`✓ ${name} (`);
  });
  row("563", "list --status connects, and shows what it found.", async () => {
    const option = await configOption("status", {
      mcpServers: { good: mcpServers["jira"], bad: { command: "/nowhere/x" } },
    });
    const { stdout } = await run("list", "--status", option);
    expect(stdout).toMatch(/✓ good[^✗]*Status: Connected/);
    expect(stdout).toMatch(/✗ bad[\s\S]*Status: (Error|Disconnected)/);
  });
  row("564", "list --tools shows the number of tools of each server.", async () => {
    expect((await run("list", "--tools")).stdout).toContain("github (15 tools");
  });
  row("565", "list --json prints the servers as JSON.", async () => {
    const { servers } = JSON.parse((await run("list", "--json")).stdout);
    expect(servers[0]).toMatchObject({
      name: "github",
      description: "GitHub API integration",
      toolCount: 15,
    });
  });
  row(
    "570-582",
    "The list has a heading with the count, and name, tools, description and status of each server.",
    async () => {
      const { args } = mcpServers["database"] as { args: string[] };
      const [script = "", told = ""] = args.slice(-2);
      const own = join(world.project, "database.mjs");
      await copyFile(script, own);
      const option = await configOption("three", {
        mcpServers: {
          github: mcpServers["github"],
          filesystem: mcpServers["filesystem"],
          database: { ...mcpServers["database"], args: [...args.slice(0, -2), own, told] },
        },
      });
      await run("list", option);
      // A server that was known and no longer starts.
      await rm(own);
      const { stdout } = await run("list", "--status", option);
      // With --status, a line with the reason follows each status.
      expect(stdout.replace(/(Status: .*)\n {2}.*/g, "$1")).toBe(
        `MCP Servers (3 configured):

✓ github (15 tools)
  GitHub API integration
  Status: Connected

✓ filesystem (8 tools)
  File system operations
  Status: Connected

✗ database (12 tools)
  Database queries
  Status: Disconnected
`,
      );
    },
  );
  row("587-589", "list exits with 0, 1 for wrong arguments, 2 for a config that cannot be used.", () =>
    expectCodes([
      [0, "list"],
      [1, "list", "--nonsense"],
      [2, "list", "--config", "missing.json"],
    ]),
  );

  row("593, 598", "search finds tools on all servers.", async () => {
    const { stdout } = await run("search", "create");
    expect(stdout).toContain("github:create_issue");
    expect(stdout).toContain("jira:create_ticket");
  });
  row("603, 614", "search --server keeps to one server.", async () => {
    const { stdout } = await run("search", "create", "--server", "github");
    expect(stdout).toContain("github:create_issue");
    expect(stdout).not.toContain("jira:");
  });
  row("604, 617", "search --limit sets the number of results, which is 10 by default.", async () => {
    const count = async (...more: string[]): Promise<number> =>
      JSON.parse((await run("search", "part", "--json", ...more)).stdout).results.length;
    expect(await count()).toBe(10);
    expect(await count("--limit", "5")).toBe(5);
  });
  row("605", "search --json prints the results as JSON.", async () => {
    const { results } = JSON.parse((await run("search", "create issue", "--json")).stdout);
    expect(results[0]).toMatchObject({ server: "github", tool: "create_issue", tags: ["github", "issues"] });
  });
  row(
    "611, 623-635",
    "Results have rank, match in percent, summary and tags under a heading with their number.",
    async () => {
      const { stdout } = await run("search", "github issue", "--limit", "100");
      const lines = stdout.split("\n");
      const shown = stdout.match(/^\d+\. /gm)?.length ?? 0;
      const [, found] = /^Search results for "github issue" \((\d+) found\):$/.exec(lines[0] ?? "") ?? [];
      expect(Number(found)).toBeGreaterThanOrEqual(shown);
      expect(stdout).toMatch(
        /^[^\n]*\n\n1\. github:create_issue \(\d+% match\)\n {3}Create a new GitHub issue in a repository\n {3}Tags: github, issues\n/,
      );
      expect(stdout).toMatch(
        /\n2\. github:update_issue \(\d+% match\)\n {3}Update an existing GitHub issue\n {3}Tags: github, issues\n/,
      );
      expect((await run("search", "github issue", "--limit", "20")).stdout).toMatch(
        /\n\d+\. jira:create_ticket \(\d+% match\)\n {3}Create a new Jira ticket\n {3}Tags: jira, issues\n/,
      );
    },
  );
  row("640-642", "search exits with 0, 1 for wrong arguments, 2 where nothing is found.", () =>
    expectCodes([
      [0, "search", "issue"],
      [1, "search"],
      [1, "search", "issue", "--limit", "none"],
      [2, "search", "xyzzy"],
    ]),
  );

  row("646, 651, 664", "tools lists the tools of a server.", async () => {
    const { stdout } = await run("tools", "github");
    expect(stdout).toContain("✓ create_issue\n  Create a new GitHub issue in a repository\n");
    expect(stdout).not.toContain("✗");
  });
  row("656, 667", "tools --all includes disabled tools.", async () => {
    expect((await run("tools", "github", "--all")).stdout).toContain("✗ delete_repo (disabled)");
  });
  row("657, 670", "tools --tags shows tags.", async () => {
    expect((await run("tools", "github")).stdout).not.toContain("Tags:");
    expect((await run("tools", "github", "--tags")).stdout).toContain("  Tags: github, issues\n");
  });
  row("658", "tools --json prints the tools as JSON.", async () => {
    expect((await run("tools", "github", "--json")).stdout).toMatch(/"name":\s*"create_issue"/);
  });
  row(
    "676-688",
    "The heading counts enabled and disabled tools; each has mark, summary and tags.",
    async () => {
      const { stdout } = await run("tools", "github", "--all", "--tags");
      expect(stdout).toContain("Tools from github (13 enabled, 2 disabled):\n\n✓ create_issue\n");
      expect(stdout).toContain("✓ list_repos\n  List GitHub repositories\n  Tags: github, repos\n");
      expect(stdout).toContain(
        "✗ delete_repo (disabled)\n  Delete a GitHub repository\n  Tags: github, dangerous\n",
      );
    },
  );
  row("693-695", "tools exits with 0, 1 for wrong arguments, 2 for an unknown server.", () =>
    expectCodes([
      [0, "tools", "github"],
      [1, "tools", "github", "another"],
      [2, "tools", "gitlab"],
    ]),
  );

  row("699, 704, 716", "inspect describes one tool.", async () => {
    const { stdout } = await run("inspect", "github", "create_issue");
    expect(stdout).toMatch(
      /^Tool: github:create_issue\n\nDescription:\n {2}Create a new GitHub issue in a repository\n/,
    );
    expect(stdout).not.toContain("Examples:");
  });
  row("709, 719", "inspect --examples adds examples.", async () => {
    expect((await run("inspect", "github", "create_issue", "--examples")).stdout).toContain("\nExamples:\n");
  });
  row("710", "inspect --json prints the tool as JSON.", async () => {
    const { stdout } = await run("inspect", "github", "create_issue", "--json");
    expect(JSON.parse(stdout)).toMatchObject({
      tool: "create_issue",
      parameters: [{ name: "repo" }, {}, {}],
    });
  });
  row(
    "725-744",
    "The description, each parameter with type and whether it is required, and examples, in this order.",
    async () => {
      const { stdout } = await run("inspect", "github", "create_issue", "--examples");
      expect(stdout).toContain(`Parameters:
  repo (string, required)
    Repository name (owner/repo)

  title (string, required)
    Issue title

  body (string, optional)
    Issue body (markdown)

Examples:
`);
      expect(stdout).toContain('    repo: "owner/repo"\n    title: "Bug: Application crashes on startup"\n');
    },
  );
  row("749-751", "inspect exits with 0, 1 for wrong arguments, 2 for an unknown server or tool.", () =>
    expectCodes([
      [0, "inspect", "github", "create_issue"],
      [1, "inspect", "github"],
      [2, "inspect", "gitlab", "create_issue"],
      [2, "inspect", "github", "create_isue"],
    ]),
  );
}
