import type { ToolRule } from "toolpipe/anygpt";
import { expect } from "vitest";
import { runMain } from "../../support/run-cli.ts";
import { until } from "../../support/until.ts";
import type { Specification } from "../specification.ts";
import { servers, toEntries } from "../stage.ts";
import { config, openEngine, openSession, toNames } from "./world.ts";

/** Lines 686 to 692: security. Lines 694 to 699: references. */
export function securityRows({ row, added, prose }: Specification): void {
  prose(686, 694, "696-699");

  row("688", "Tools that the rules disable are not executed, also those that no rule enables.", async () => {
    const session = await openSession(openEngine({ ...config, servers: toEntries(["github"]) }));
    const target = { server: "github", tool: "delete_repo", arguments: {} };
    expect(await session.call("execute_tool", target)).toMatchObject({ isError: true });
    const allow = [{ pattern: ["list_*"], enabled: true }];
    const engine = openEngine({ enabled: true, servers: toEntries(["github"]), toolRules: allow });
    expect((await engine.executeTool("github", "list_repos", {})).success).toBe(true);
    expect(
      (await engine.executeTool("github", "create_issue", { repo: "owner/repo", title: "Bug" })).error?.code,
    ).toBe("TOOL_DISABLED");
  });
  row("689", "An exclusion holds wherever it stands in a list, also alone.", async () => {
    for (const pattern of [["!*delete*", "*"], ["*", "!*delete*"], ["!*delete*"]]) {
      const toolRules = [{ pattern, enabled: true, tags: ["safe"] }];
      const engine = openEngine({ enabled: true, servers: toEntries(["github"]), toolRules });
      expect((await engine.executeTool("github", "delete_repo", {})).error?.code).toBe("TOOL_DISABLED");
      expect((await engine.executeTool("github", "list_repos", {})).success).toBe(true);
    }
    const bare = [{ pattern: ["!*delete*"] }];
    const engine = openEngine({ enabled: true, servers: toEntries(["github"]), toolRules: bare });
    expect((await engine.executeTool("github", "delete_repo", {})).error?.code).toBe("TOOL_DISABLED");
  });
  row("690", "Every execution is in the audit, also one that was refused.", async () => {
    const servers = toEntries(["github"]).map((entry) => ({ ...entry, name: "audited" }));
    const engine = openEngine({ ...config, servers });
    expect((await engine.executeTool("audited", "list_repos", {})).success).toBe(true);
    expect((await engine.executeTool("audited", "delete_repo", {})).success).toBe(false);
    await until(async () => {
      const { stdout } = await runMain(["mcp", "audit", "tail", "--json"], "anygpt");
      return ["audited:list_repos", "audited:delete_repo"].every((id) => stdout.includes(id));
    }, 20_000);
  });
  row(
    "691",
    "Every server is a process of its own, and gets no variables of the gateway that it was not given.",
    async () => {
      process.env["SECRET_OF_THE_GATEWAY"] = "canary";
      try {
        const [one, two] = toEntries(["faulty", "faulty"]).map((entry, index) => ({
          ...entry,
          name: `own-${index}`,
        }));
        const engine = openEngine({ enabled: true, servers: [one, two].flatMap((entry) => entry ?? []) });
        const pids = await Promise.all(
          ["own-0", "own-1"].map(async (name) => (await engine.executeTool(name, "process", {})).result.pid),
        );
        expect(new Set([...pids, process.pid]).size).toBe(3);
        const { result } = await engine.executeTool("own-0", "environment", {});
        expect(JSON.stringify(result)).not.toContain("canary");
      } finally {
        delete process.env["SECRET_OF_THE_GATEWAY"];
      }
    },
  );
  row("692", "Wrong arguments never reach the server.", async () => {
    // This tool never answers: a call that reached it would not come back.
    const [entry] = toEntries(["github"]);
    const schema = { type: "object", properties: { id: { type: "integer" } }, required: ["id"] };
    const told = { tools: [{ name: "silent", inputSchema: schema }] };
    const { command, args } = servers.github;
    const connection = { type: "stdio", command, args: [...args.slice(0, -1), JSON.stringify(told)] };
    const engine = openEngine({ enabled: true, servers: [{ ...entry, name: "silent", connection }] });
    for (const wrong of [{}, { id: "text" }, { id: 1.5 }])
      expect((await engine.executeTool("silent", "silent", wrong)).error?.code).toBe("TOOL_VALIDATION_ERROR");
  });

  added(
    "689",
    "With conflict: deny-wins a rule that disables counts wherever it stands.",
    "Some configs list what is allowed first.",
    async () => {
      const rules = [
        { pattern: ["*"], enabled: true },
        { pattern: ["delete_*"], enabled: false },
      ];
      const toolRules = { conflict: "deny-wins", rules } as unknown as ToolRule[];
      const engine = openEngine({ enabled: true, servers: toEntries(["github"]), toolRules });
      expect(toNames(await engine.listTools("github"))).toEqual([
        "create_issue",
        "update_issue",
        "list_repos",
      ]);
    },
  );
}
