import type { Actor, Progress } from "../call.ts";
import type { Tool, ToolResult } from "../tool.ts";

/** A call that takes longer than its client waits. */
export interface LongCall {
  readonly actor?: Actor | undefined;
  /** Name of the tool, for the reader of the link. */
  readonly name: string;
  progress(): Progress | undefined;
}

/** Limits the size and time of results. Provided by the plugin `results`. */
export interface Results {
  /** The tool by which an agent reads the rest of a cut result. */
  readonly tool: Tool;
  /** Milliseconds after which a call is answered with a link; 0 means never. */
  readonly waitMs: number;
  /** Returns a result that fits: cut if it is too large, with the rest kept for the actor. */
  fit(result: ToolResult, actor: Actor, options?: { readonly keepStructured?: boolean }): ToolResult;
  /** Returns a link to the future result of a call; undefined if too many calls are waiting. */
  later(result: Promise<ToolResult>, call: LongCall): ToolResult | undefined;
}
