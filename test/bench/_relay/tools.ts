import type { ToolDefinition } from "../../../core/mod.ts";
import { nouns, verbs } from "../_workspace-tools.ts";

/** The fifty tools of a server, all of which answer with the text they are given. */
export function createTools(server: string): ToolDefinition[] {
  return nouns.slice(0, 5).flatMap((noun) =>
    verbs.map((verb) => ({
      name: `${verb}_${noun}_${server}`,
      description: `${verb} ${noun} of the workspace ${server}, by owner, state and date, a page at a time.`,
      inputSchema: {
        type: "object",
        properties: {
          text: { type: "string", description: "What to answer" },
          state: { type: "string", enum: ["open", "closed", "all"], description: "Which of them" },
          page: { type: "integer", minimum: 1, description: "Which page" },
        },
        required: ["text"],
      },
      annotations: { readOnlyHint: verb === "list" || verb === "get" || verb === "search" },
    })),
  );
}
