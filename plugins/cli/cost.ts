import type { Gateway, Preset, Tool, ToolDefinition } from "../../core/mod.ts";
import type { ServerStatus } from "../../core/services/servers.ts";
import { estimateTokens } from "../lib/tokens.ts";

/** About how many tokens a model reads for these tools: what a client passes on to it, and nothing else. */
export function costOfTools(tools: readonly ToolDefinition[]): number {
  const shown = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return shown.length === 0 ? 0 : Math.ceil(estimateTokens(JSON.stringify(shown)));
}

/** What a server would cost an agent that had it loaded: its tools, and what it says of itself. */
export function costOfServer(tools: readonly Tool[], info: ServerStatus["info"]): number {
  return costOfTools(tools) + costOfText(info?.instructions);
}

/** What an agent reads in place of all that: the tools of the preset as they are now, and its instructions. */
export function costThrough(gateway: Gateway, preset: Preset): number {
  const tools = preset.describe?.(gateway) ?? gateway.tools;
  return costOfTools(tools.filter(({ enabled }) => enabled)) + costOfText(preset.instructions?.(gateway));
}

/** What was `before`, and what is left of it. */
export function describeSaving(before: number, after: number): string {
  const share = before > after ? ` (${Math.floor((1 - after / before) * 100)} % less)` : "";
  return `${thousands(before)} tokens for an agent if they were all loaded, ${thousands(after)} through toolpipe${share}`;
}

/** `12,345`. */
export function thousands(count: number): string {
  return count.toLocaleString("en-US");
}

function costOfText(text: string | undefined): number {
  return text ? Math.ceil(estimateTokens(text)) : 0;
}
