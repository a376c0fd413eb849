/** The output of the specification's commands, word by word. */
export const examples = {
  list: `MCP Servers (3 configured):

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
  search: `Search results for "github issue" (3 found):

1. github:create_issue (95% match)
   Create a new GitHub issue with title and body
   Tags: github, issues

2. github:update_issue (87% match)
   Update an existing GitHub issue
   Tags: github, issues

3. jira:create_ticket (72% match)
   Create a new Jira ticket
   Tags: jira, issues
`,
  tools: `Tools from github (15 enabled, 2 disabled):

✓ create_issue
  Create a GitHub issue
  Tags: github, issues

✓ list_repos
  List GitHub repositories
  Tags: github, repos

✗ delete_repo (disabled)
  Delete a GitHub repository
  Tags: github, dangerous
`,
  inspect: `Tool: github:create_issue

Description:
  Create a new GitHub issue in a repository

Parameters:
  repo (string, required)
    Repository name (owner/repo)

  title (string, required)
    Issue title

  body (string, optional)
    Issue body (markdown)

Examples:
  Create a bug report:
    repo: "owner/repo"
    title: "Bug: Application crashes on startup"
    body: "## Steps to reproduce\\n1. Launch app\\n2. Crash occurs"
`,
  show: `MCP Discovery Configuration:

Status: Enabled
Cache: Enabled (TTL: 3600s)

Sources (3):
  ✓ docker-mcp (~/.docker/mcp-servers.json)
  ✓ claude-desktop (~/Library/Application Support/Claude/claude_desktop_config.json)
  ✗ windsurf (~/.windsurf/mcp.json) - not found

Tool Rules (3):
  1. *github*, /issue/ → enabled, tags: [github, issues]
  2. *filesystem*, /read/, /write/ → enabled, tags: [filesystem]
  3. *dangerous*, *delete* → disabled, tags: [dangerous]

Servers: 15 configured, 12 connected
Tools: 187 total, 145 enabled
`,
  executed: `Executing: github:create_issue

✓ Success

Result:
  Issue #123 created
  URL: https://github.com/owner/repo/issues/123
  Title: Bug report
  State: open
`,
  failed: `Executing: github:create_issue

✗ Error

Code: TOOL_EXECUTION_ERROR
Message: Failed to create issue: API rate limit exceeded
Server: github
Tool: create_issue
`,
  executedJson: `{
  "success": true,
  "result": {
    "issue_number": 123,
    "url": "https://github.com/owner/repo/issues/123",
    "title": "Bug report",
    "state": "open"
  }
}
`,
} as const;

/** Intended differences of our output. Each turns the specification's output into ours. */
interface Difference {
  readonly why: string;
  readonly from: string | RegExp;
  readonly to: string;
}

/** All of the differences, by the example that they concern; an example that is not here is printed as it stands. */
export const differences: Readonly<Partial<Record<keyof typeof examples, readonly Difference[]>>> = {
  list: [
    {
      why: "A server that is not in use is not connected, but works; a cross would mean that it does not.",
      from: "✗ database",
      to: "✓ database",
    },
    {
      why: "A user who reads that a server is not connected wants to know whether that is a fault.",
      from: "Status: Disconnected\n",
      to: "Status: Disconnected\n  It connects when it is used.\n",
    },
  ],
  tools: [
    {
      why: "The example leaves out 14 of the 17 tools that it counts; ours has them all, in the server's order.",
      from: "\n✗ delete_repo (disabled)\n",
      to: `\n${Array.from({ length: 13 }, (_, index) => `✓ more_${index + 1}\n\n`).join("")}✗ delete_repo (disabled)\n`,
    },
    {
      why: "The same: the second disabled tool.",
      from: /$/,
      to: "\n✗ delete_fork (disabled)\n  Tags: github, dangerous\n",
    },
  ],
  inspect: [
    {
      why: "Examples come from the schema of a tool, which has values but no name for them.",
      from: "Create a bug report:",
      to: "Arguments that its schema accepts:",
    },
  ],
  show: [
    {
      why: "Other presets and plugins can be chosen, and several files may hold the config.",
      from: /$/,
      to: "\nFile: {file}\nPreset: anygpt\nPlugins: {plugins}\n",
    },
  ],
  executedJson: [
    {
      why: "One line, for programs.",
      from: /[\s\S]*/,
      to: '{"success":true,"result":{"issue_number":123,"url":"https://github.com/owner/repo/issues/123","title":"Bug report","state":"open"}}\n',
    },
  ],
};

/** Returns the expected output; `facts` replace the names in braces. */
export function expected(name: keyof typeof examples, facts: Readonly<Record<string, string>> = {}): string {
  let text: string = examples[name];
  for (const { why, from, to } of differences[name] ?? []) {
    const changed = text.replace(from, () => to);
    if (changed === text) throw new Error(`There is no such difference any more: ${why}`);
    text = changed;
  }
  return text.replace(/\{(\w+)\}/g, (whole, fact: string) => facts[fact] ?? whole);
}
