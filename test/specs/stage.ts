import type { JsonObject } from "../../core/mod.ts";
import { fixtureServer, type ToldTool, toldServer } from "./shared.ts";

/** The specification's tool: its parameters and what it returns. */
export const createIssue: ToldTool = {
  name: "create_issue",
  description: "Create a new GitHub issue",
  inputSchema: {
    type: "object",
    properties: {
      repo: { type: "string", description: "Repository name (owner/repo)" },
      title: { type: "string", description: "Issue title" },
      body: { type: "string", description: "Issue body" },
    },
    required: ["repo", "title"],
  },
};

/** The data that the specification's tool returns. */
export const createdIssue = {
  issue_number: 123,
  url: "https://github.com/owner/repo/issues/123",
  title: "Bug report",
  state: "open",
};

/** A result of a tool that returns data, as most servers give it: as text and as structured content. */
export function dataResult(data: JsonObject): JsonObject {
  return { content: [{ type: "text", text: JSON.stringify(data) }], structuredContent: data };
}

/** A result by which a tool says that it failed. */
export function failedResult(text: string): JsonObject {
  return { content: [{ type: "text", text }], isError: true };
}

const github = toldServer(
  [
    createIssue,
    { name: "update_issue", description: "Update an existing GitHub issue" },
    { name: "list_repos", description: "List GitHub repositories" },
    { name: "delete_repo", description: "Delete a GitHub repository" },
  ],
  { create_issue: dataResult(createdIssue), list_repos: dataResult({ repos: ["a", "b"] }) },
);

/** Real small servers by name: one that works, one whose tool fails, one that can do everything wrong, one that cannot start. */
export const servers = {
  github: { ...github, description: "GitHub API integration" },
  limited: {
    ...toldServer([createIssue], {
      create_issue: failedResult("Failed to create issue: API rate limit exceeded"),
    }),
    description: "Always over its limit",
  },
  faulty: { ...fixtureServer("faulty-mcp.mjs", "--mode", "ok"), description: "Echoes and faults" },
  dead: { command: "toolpipe-no-such-command", args: [] as string[], description: "Cannot start" },
} as const;

/** The same as entries of `discovery.servers`. */
export function toEntries(
  names: readonly (keyof typeof servers)[] = ["github", "limited", "faulty", "dead"],
): { name: string; description: string; connection: JsonObject }[] {
  return names.map((name) => {
    const { command, args, description } = servers[name];
    return { name, description, connection: { type: "stdio", command, args } };
  });
}
