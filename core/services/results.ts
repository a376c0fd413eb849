import type { Actor, Progress } from "../call.ts";
import type { Tool, ToolResult } from "../tool.ts";

/** A call that outlasts the time its client waits. */
export interface LongCall {
  readonly actor?: Actor | undefined;
  /** The name of the tool, for the reader of the link. */
  readonly name: string;
  progress(): Progress | undefined;
}

/** Keeps answers within bounds. Provided by the plugin `results`. */
export interface Results {
  /** The tool by which an agent reads what it was not shown. */
  readonly tool: Tool;
  /** After this long a call is answered with a link; 0 means never. */
  readonly waitMs: number;
  /** A result as it can be shown: itself where it fits, else cut, with the rest kept for the actor. */
  fit(result: ToolResult, actor: Actor, options?: { readonly keepStructured?: boolean }): ToolResult;
  /** Answers with a link to the result of a call, or with nothing where too many calls wait so. */
  later(result: Promise<ToolResult>, call: LongCall): ToolResult | undefined;
}
