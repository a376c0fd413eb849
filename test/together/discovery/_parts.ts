import type { ToolDefinition } from "../../../core/mod.ts";
import { type ApprovalStore, createApprovalStore } from "../../../plugins/approvals/mod.ts";
import type { ApprovalParts, Introspected } from "../../../plugins/discovery/capability-files/mod.ts";
import { inferTags, toManifest } from "../../../plugins/discovery/manifest.ts";
import { normalizeEntry } from "../../../plugins/lib/server-entry/normalize.ts";
import { memoryStore } from "../../../plugins/state/mod.ts";

/** Creates the stores of approvals and records, for one test. */
export function parts(): ApprovalParts & { readonly approvals: ApprovalStore } {
  const store = memoryStore();
  return { store, approvals: createApprovalStore(store) };
}

/** The tool of the specification. */
export const listIssues: ToolDefinition = {
  name: "list_issues",
  description: "List issues in a GitHub repository",
  inputSchema: {
    type: "object",
    properties: {
      owner: { type: "string" },
      repo: { type: "string" },
      state: { type: "string", enum: ["open", "closed", "all"] },
    },
    required: ["owner", "repo"],
  },
  outputSchema: {
    type: "array",
    items: {
      type: "object",
      properties: { id: { type: "integer" }, title: { type: "string" }, state: { type: "string" } },
      required: ["id", "title", "state"],
    },
  },
};

/** A tool that takes nothing. */
export function plainTool(name: string, description = `Does ${name}`): ToolDefinition {
  return { name, description, inputSchema: { type: "object" } };
}

/** A server as introspection finds it. */
export function introspected(
  tools: readonly ToolDefinition[],
  {
    server = "github",
    url = "https://api.github.com/mcp",
  }: { readonly server?: string; readonly url?: string } = {},
): Introspected {
  const { config } = normalizeEntry({ name: server, entry: { url } }, { source: "inline", scope: "config" });
  if (!config) throw new Error("The definition is wrong.");
  return {
    server,
    entry: { url },
    summary: `The server ${server}`,
    tools: tools.map((tool) => ({ tool, manifest: toManifest(tool, config, inferTags) })),
  };
}
