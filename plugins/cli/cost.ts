import type { Gateway, Preset, Tool, ToolDefinition } from "../../core/mod.ts";
import type { ServerStatus } from "../../core/services/servers.ts";
import { estimateTokens } from "../lib/tokens.ts";

/** Estimates the tokens of tool definitions as clients pass them to a model. */
export function estimateTools(tools: readonly ToolDefinition[]): number {
  const passed = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  return passed.length === 0 ? 0 : Math.ceil(estimateTokens(JSON.stringify(passed)));
}

/** Estimates the tokens of a server that is loaded directly: its tools and its instructions. */
export function estimateServer(tools: readonly Tool[], info: ServerStatus["info"]): number {
  return estimateTools(tools) + estimateString(info?.instructions);
}

/** Estimates the tokens of the tools and instructions of a preset. */
export function estimatePreset(gateway: Gateway, preset: Preset): number {
  const tools = preset.describe?.(gateway) ?? gateway.tools;
  return (
    estimateTools(tools.filter(({ enabled }) => enabled)) + estimateString(preset.instructions?.(gateway))
  );
}

/** Describes the tokens that toolpipe saves. */
export function describeSaving(before: number, after: number): string {
  const share = before > after ? ` (${Math.floor((1 - after / before) * 100)} % less)` : "";
  return `${formatNumber(before)} tokens for an agent if all were loaded, ${formatNumber(after)} through toolpipe${share}`;
}

/** Formats a number as `12,345`. */
export function formatNumber(count: number): string {
  return count.toLocaleString("en-US");
}

function estimateString(value: string | undefined): number {
  return value ? Math.ceil(estimateTokens(value)) : 0;
}
