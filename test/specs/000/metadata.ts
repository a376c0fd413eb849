import { applyToolRules, type ToolMetadata, ToolMetadataManager, type ToolRule } from "toolpipe/anygpt";
import { expect } from "vitest";
import type { Specification } from "../specification.ts";
import { toEntries } from "../stage.ts";
import { findTypeFaults } from "./types.ts";
import { openEngine, toNames, tool, world } from "./world.ts";

/** A manager with three tools of a server and one of another, and perhaps rules. */
function createManager(...rules: ToolRule[]): ToolMetadataManager {
  const manager = new ToolMetadataManager();
  for (const name of ["create_issue", "delete_issue", "list_repos"]) manager.addTool(tool(name));
  manager.addTool(tool("create_ticket", { server: "jira", tags: ["own"] }));
  manager.applyRules(rules);
  return manager;
}

/** Returns the names that rules leave enabled. */
const listEnabled = (...rules: ToolRule[]): string[] => toNames(createManager(...rules).getAllTools());
const all = ["create_issue", "delete_issue", "list_repos", "create_ticket"];

/** Lines 80 to 135: the store of tools. Lines 331 to 343 and 425 to 464: data and algorithm. Lines 552 to 569: tasks. */
export function metadataRows({ row, differs, added, prose }: Specification): void {
  prose(80, 84, 91, 129, 331, 425, 552, 554, 556, 564);

  row(
    "82, 85, 557-558, 565",
    "Tools are stored with name, description, parameters and tags, and found again.",
    () => {
      const parameters = [{ name: "repo", type: "string", description: "Where", required: true }];
      const whole = tool("create_issue", {
        summary: "Create",
        description: "Create it",
        parameters,
        tags: ["a"],
      });
      const manager = new ToolMetadataManager();
      manager.addTool(whole);
      expect(manager.getTool("github", "create_issue")).toEqual(whole);
      manager.addTool({ ...whole, summary: "Create anew" });
      expect(manager.getAllTools()).toMatchObject([{ summary: "Create anew" }]);
    },
  );

  row("86, 559, 566", "Patterns of rules decide which tools are listed.", () => {
    expect(listEnabled({ pattern: ["*issue*", "!delete_*"], enabled: true })).toEqual(["create_issue"]);
    expect(listEnabled({ pattern: ["/^create_/"], enabled: false })).toEqual(["delete_issue", "list_repos"]);
  });

  row("87, 561, 569", "Every tool says whether it is enabled, and a disabled one is still known.", () => {
    const manager = createManager({ pattern: ["delete_*"], enabled: false });
    expect(manager.getTool("github", "delete_issue")?.enabled).toBe(false);
    expect(manager.getTool("github", "create_issue")?.enabled).toBe(true);
  });

  row("88, 560, 567", "Tags of all rules that match add up.", () => {
    const manager = createManager(
      { pattern: ["*issue*"], tags: ["issues"] },
      { server: "github", pattern: ["*"], tags: ["github"] },
    );
    expect(manager.getTool("github", "create_issue")?.tags).toEqual(["issues", "github"]);
    expect(manager.getTool("jira", "create_ticket")?.tags).toEqual(["own"]);
  });

  row("89", "A tool is found among 10,000 without a search through them.", () => {
    const manager = new ToolMetadataManager();
    for (let index = 0; index < 10_000; index++)
      manager.addTool(tool(`tool_${index}`, { server: `server-${index % 100}` }));
    const start = performance.now();
    let found = 0;
    for (let index = 0; index < 10_000; index++)
      if (manager.getTool(`server-${index % 100}`, `tool_${index}`)) found++;
    expect(found).toBe(10_000);
    // A search through all would be a hundred million comparisons.
    expect(performance.now() - start).toBeLessThan(2_000);
  });

  row(
    "92-102, 332-343",
    "A tool has server, name, summary, enabled and tags; the rest is in its details.",
    async () => {
      expect(await findTypeFaults("ToolMetadata")).toEqual([]);
      const [listed] = await world.engine.listTools("github");
      expect(listed).toEqual({
        server: "github",
        name: "create_issue",
        summary: "Create a new GitHub issue",
        enabled: true,
        tags: ["github", "issues"],
      });
      const details: ToolMetadata | null = await world.engine.getToolDetails("github", "create_issue");
      expect(details).toMatchObject({
        ...listed,
        description: "Create a new GitHub issue",
        parameters: [{ name: "repo" }, { name: "title" }, { name: "body" }],
        examples: [{ parameters: { repo: expect.any(String), title: expect.any(String) } }],
      });
    },
  );

  row("104-109", "A parameter has name, type, description, and whether it is required.", async () => {
    expect(await findTypeFaults("ToolParameter")).toEqual([]);
    const details = await world.engine.getToolDetails("github", "create_issue");
    expect(details?.parameters).toEqual([
      { name: "repo", type: "string", description: "Repository name (owner/repo)", required: true },
      { name: "title", type: "string", description: "Issue title", required: true },
      { name: "body", type: "string", description: "Issue body", required: false },
    ]);
  });

  row("111-113, 557", "ToolMetadataManager takes tools with addTool.", async () => {
    expect(await findTypeFaults("ToolMetadataManager")).toEqual([]);
    expect(toNames(createManager().getAllTools())).toEqual(all);
  });

  row(
    "115-116, 559",
    "applyRules decides about the tools that are there, and about those that come later.",
    () => {
      const manager = createManager({ pattern: ["create_*"], enabled: false });
      manager.addTool(tool("create_repo"));
      manager.addTool(tool("update_repo"));
      expect(toNames(manager.getAllTools())).toEqual(["delete_issue", "list_repos", "update_repo"]);
      manager.applyRules([]);
      expect(manager.getAllTools()).toHaveLength(6);
    },
  );

  row("118-119", "The tools of a server are its enabled ones, or all.", () => {
    const manager = createManager({ pattern: ["delete_*"], enabled: false });
    expect(toNames(manager.getToolsByServer("github"))).toEqual(["create_issue", "list_repos"]);
    expect(toNames(manager.getToolsByServer("github", true))).toEqual(all.slice(0, 3));
    expect(manager.getToolsByServer("nowhere", true)).toEqual([]);
  });
  row("120", "A tool that is not there is null.", () => {
    expect(createManager().getTool("github", "create_ticket")).toBeNull();
    expect(createManager().getTool("jira", "create_ticket")?.server).toBe("jira");
  });
  row("121", "All tools are the enabled ones of every server, or all.", () => {
    const manager = createManager({ pattern: ["create_*"], enabled: false });
    expect(toNames(manager.getAllTools())).toEqual(["delete_issue", "list_repos"]);
    expect(toNames(manager.getAllTools(true))).toEqual(all);
  });
  row("123-126", "A server's tools are counted, all of them and the enabled ones.", () => {
    const manager = createManager({ pattern: ["delete_*"], enabled: false });
    expect([manager.getToolCount("github"), manager.getEnabledCount("github")]).toEqual([3, 2]);
    expect([manager.getToolCount("nowhere"), manager.getEnabledCount("nowhere")]).toEqual([0, 0]);
  });

  row("130, 133, 446-449", "Of several rules the first that matches decides.", () => {
    const keep: ToolRule = { pattern: ["delete_issue"], enabled: true };
    const drop: ToolRule = { pattern: ["delete_*"], enabled: false };
    expect(listEnabled(keep, drop)).toEqual(["delete_issue"]);
    expect(listEnabled(drop, { pattern: ["delete_*"], tags: ["x"] })).not.toContain("delete_issue");
  });
  differs(
    "446-449",
    "A rule that decides as the default does leaves the decision to later rules.",
    "The steps of the algorithm, the comment and 001 say that the first matching rule decides; by the loop a later rule would enable what the first disables.",
    () => {
      const drop: ToolRule = { pattern: ["delete_*"], enabled: false };
      expect(listEnabled(drop, { pattern: ["*issue*"], enabled: true })).toEqual(["create_issue"]);
    },
  );

  row("131, 441-444", "A rule whose pattern does not match changes neither decision nor tags.", () => {
    const rules = [{ pattern: ["zzz*"], enabled: false, tags: ["z"] }];
    expect(applyToolRules([tool("create_issue", { tags: ["own"] })], rules)).toEqual([
      tool("create_issue", { tags: ["own"] }),
    ]);
  });
  row("132, 436-439", "A rule with a server skips the tools of others.", () => {
    const rules = [{ server: "github", pattern: ["create_*"], enabled: false, tags: ["hub"] }];
    const tools = [tool("create_issue"), tool("create_issue", { server: "jira" })];
    expect(applyToolRules(tools, rules)).toEqual([
      tool("create_issue", { enabled: false, tags: ["hub"] }),
      tool("create_issue", { server: "jira" }),
    ]);
  });
  row("134, 433, 451-455", "Tags of the tool come first, then those of every rule that matches.", () => {
    const rules = [
      { pattern: ["*issue"], enabled: false, tags: ["one"] },
      { pattern: ["create_*"], enabled: true, tags: ["two", "three"] },
    ];
    expect(applyToolRules([tool("create_issue", { tags: ["own"] })], rules)[0]?.tags).toEqual([
      "own",
      "one",
      "two",
      "three",
    ]);
  });
  row(
    "135, 429, 432, 568",
    "Once a rule enables tools all others are disabled; without one all are enabled.",
    () => {
      expect(listEnabled()).toEqual(all);
      expect(listEnabled({ pattern: ["delete_*"], tags: ["x"] })).toEqual(all);
      expect(listEnabled({ pattern: ["list_*"], enabled: true })).toEqual(["list_repos"]);
      // Also for tools of servers that the enabling rule is not for.
      expect(listEnabled({ server: "jira", pattern: ["*"], enabled: true })).toEqual(["create_ticket"]);
    },
  );

  row(
    "428, 431, 435, 457-463",
    "applyToolRules returns new tools, with each tag once, and leaves the given ones.",
    async () => {
      expect(await findTypeFaults("applyToolRules")).toEqual([]);
      const given = [tool("create_issue", { summary: "Create", tags: ["a"] })];
      const rules = [
        { pattern: ["*"], tags: ["a", "b"] },
        { pattern: ["*"], enabled: false, tags: ["b"] },
      ];
      expect(applyToolRules(given, rules)).toEqual([
        tool("create_issue", { summary: "Create", enabled: false, tags: ["a", "b"] }),
      ]);
      expect(given).toEqual([tool("create_issue", { summary: "Create", tags: ["a"] })]);
    },
  );

  row("562", "Rules of an engine decide as those of the manager.", async () => {
    const rules: ToolRule[] = [
      { pattern: ["delete_*"], enabled: false, tags: ["dangerous"] },
      { server: "github", pattern: ["*issue*", "/^list_/"], enabled: true, tags: ["hub"] },
    ];
    const engine = openEngine({ enabled: true, servers: toEntries(["github"]), toolRules: rules });
    const ofEngine = await engine.listTools("github", true);
    const plain = openEngine({ enabled: true, servers: toEntries(["github"]) });
    expect(ofEngine).toEqual(applyToolRules(await plain.listTools("github"), rules));
  });

  added(
    "85-89",
    "A tool whose name holds a colon is not mistaken for the tool of another server.",
    "Servers choose the names of their tools.",
    () => {
      const manager = createManager();
      manager.addTool(tool("b:c", { server: "a", summary: "first" }));
      manager.addTool(tool("c", { server: "a:b", summary: "second" }));
      expect(manager.getTool("a", "b:c")?.summary).toBe("first");
      expect(manager.getTool("a:b", "c")?.summary).toBe("second");
    },
  );
}
