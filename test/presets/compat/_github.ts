import { fileURLToPath } from "node:url";
import type { MCPServerConfig } from "toolpipe/anygpt";

/** The issue that the tool `create_issue` of {@link github} returns. */
export const issue = {
  issue_number: 123,
  url: "https://github.com/owner/repo/issues/123",
  title: "Bug report",
  state: "open",
};

const string = { type: "string" };
const tools = [
  {
    name: "create_issue",
    description: "Create a new GitHub issue in a repository",
    inputSchema: {
      type: "object",
      properties: { repo: { ...string, description: "Repository name (owner/repo)" }, title: string },
      required: ["repo", "title"],
    },
  },
  { name: "list_repos", description: "List GitHub repositories" },
  { name: "delete_repo", description: "Delete a GitHub repository" },
];
const answers = {
  create_issue: { content: [{ type: "text", text: JSON.stringify(issue) }] },
  list_repos: { content: [{ type: "text", text: "API rate limit exceeded" }], isError: true },
};

/** A real server over stdio with three tools. */
export const github: MCPServerConfig = {
  command: "node",
  args: [
    fileURLToPath(new URL("../../fixtures/told-mcp.mjs", import.meta.url)),
    JSON.stringify({ tools, answers }),
  ],
};
