import type { Gateway, GatewayOptions, ToolDefinition } from "../../core/mod.ts";
import { memorySink } from "../../plugins/audit/mod.ts";
import { anygpt } from "../../presets/anygpt/mod.ts";
import { openGateway } from "../support/open-gateway.ts";

/** A tool of a server. */
export interface CatalogTool extends ToolDefinition {
  readonly server: string;
}

const text = (description: string): object => ({ type: "string", description });

function tool(
  server: string,
  name: string,
  description: string,
  properties: object,
  required: string[] = [],
) {
  return { server, name, description, inputSchema: { type: "object", properties, required } };
}

const repo = { owner: text("Repository owner (username or organization)"), repo: text("Repository name") };
const place = { path: text("Path to the file, relative to the working directory or absolute") };

/** Tools such as many servers have them, for where no real ones are at hand. */
export const sampleCatalog: readonly CatalogTool[] = [
  tool(
    "github",
    "create_issue",
    "Create a new issue in a GitHub repository. The issue is assigned to nobody unless assignees are given.",
    {
      ...repo,
      title: text("Issue title"),
      body: text("Issue body content, in Markdown"),
      labels: { type: "array", items: { type: "string" }, description: "Labels to apply to this issue" },
      milestone: { type: "integer", minimum: 1, description: "Milestone number" },
    },
    ["owner", "repo", "title"],
  ),
  tool(
    "github",
    "update_issue",
    "Update an existing issue in a GitHub repository",
    {
      ...repo,
      issue_number: { type: "integer", description: "Number of the issue to update" },
      state: { type: "string", enum: ["open", "closed"], description: "New state" },
    },
    ["owner", "repo", "issue_number"],
  ),
  tool(
    "github",
    "search_code",
    "Search for code across GitHub repositories using GitHub's code search syntax",
    {
      q: text("Search query, e.g. 'addClass in:file language:js'"),
      order: { enum: ["asc", "desc"], description: "Sort order" },
      page: { type: "number", minimum: 1, description: "Page number for pagination" },
    },
    ["q"],
  ),
  tool("github", "delete_repository", "Delete a GitHub repository for good", repo, ["owner", "repo"]),
  tool(
    "filesystem",
    "read_file",
    "Read the complete contents of a file from the file system. Handles various text encodings.",
    { ...place, head: { type: "number", description: "Only the first so many lines" } },
    ["path"],
  ),
  tool(
    "filesystem",
    "write_file",
    "Create a new file or completely overwrite an existing file with new content. Use with caution.",
    { ...place, content: text("What to write") },
    ["path", "content"],
  ),
  tool(
    "filesystem",
    "list_directory",
    "Get a detailed listing of all files and directories in a specified path.",
    place,
    ["path"],
  ),
  tool(
    "filesystem",
    "edit_file",
    "Make line-based edits to a text file.",
    {
      ...place,
      edits: {
        type: "array",
        items: {
          type: "object",
          properties: { oldText: text("Text to search for"), newText: text("Text to put there") },
          required: ["oldText", "newText"],
        },
      },
      dryRun: { type: "boolean", default: false, description: "Preview changes using git-style diff format" },
    },
    ["path", "edits"],
  ),
  tool(
    "time",
    "get_current_time",
    "Get the current time in a specific timezone.",
    { timezone: text("IANA timezone name (e.g., 'America/New_York')") },
    ["timezone"],
  ),
];

/** Opens the preset over a catalog; its tools answer nothing. */
export async function openCatalog(
  tools: readonly CatalogTool[],
  options: GatewayOptions["options"] = {},
): Promise<Gateway> {
  const gateway = await openGateway({
    preset: anygpt,
    options: { audit: { sink: memorySink() }, cache: { enabled: false }, ...options },
  });
  for (const server of new Set(tools.map((one) => one.server))) {
    await gateway.catalog.replace(
      { id: server },
      tools.filter((one) => one.server === server),
    );
  }
  return gateway;
}
