import type { ToolDefinition } from "../../core/mod.ts";

/** Verbs of generated tools. */
export const verbs: readonly string[] = [
  "list",
  "get",
  "create",
  "update",
  "delete",
  "search",
  "export",
  "import",
  "watch",
  "close",
];
/** Objects of generated tools. */
export const nouns: readonly string[] = [
  "issues",
  "files",
  "invoices",
  "messages",
  "events",
  "pages",
  "users",
  "orders",
  "tickets",
  "charts",
];

/** The ten tools of a server that is made up. */
export function workspaceTools(workspace: number): ToolDefinition[] {
  const noun = nouns[workspace % nouns.length];
  return verbs.map((verb) => ({
    name: `${verb}_${noun}`,
    description: `${verb} ${noun} of the workspace ${workspace}, by owner, state and date, a page at a time.`,
    inputSchema: {
      type: "object",
      properties: {
        owner: { type: "string", description: "Whose they are" },
        state: { type: "string", enum: ["open", "closed", "all"], description: "Which of them" },
        since: { type: "string", description: "Only those changed since this date" },
        page: { type: "integer", description: "Which page, from 1" },
      },
      required: ["owner"],
    },
  }));
}
