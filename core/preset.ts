import type { SettledCall } from "./call.ts";
import { GatewayError } from "./errors.ts";
import type { Gateway } from "./gateway.ts";
import type { LocalTool, LocalTools } from "./local-tools.ts";
import { isPlugin, type Plugin } from "./plugin.ts";
import type { Tool, ToolResult } from "./tool.ts";

/** A tool of the gateway itself, exposed in place of the catalog. */
export type MetaTool = LocalTool;

/** Meta-tools, or a function that creates them once all plugins are set up. */
export type MetaTools = LocalTools;

/** Exposed tools: those of the gateway itself, those of the servers, or both. */
export type Exposure = "meta" | "tools" | "both";

/** A call that ended with an error. */
export type FailedCall = Extract<SettledCall, { readonly ok: false }>;

/** A combination of plugins and exposed tools. */
export interface Preset<Plugins extends readonly Plugin[] = readonly Plugin[]> {
  readonly name: string;
  readonly plugins: Plugins;
  /** Exposed tools; with none, those of the catalog are exposed. */
  readonly tools: MetaTools;
  /** Returns instructions about the gateway for a client that connects. */
  instructions?(gateway: Gateway, exposure?: Exposure): string;
  /** Returns the exposed tools, if they depend on the catalog or on the client. */
  describe?(gateway: Gateway, exposure?: Exposure): readonly Tool[];
  /** Returns the answer to a call of an exposed tool that failed, where the preset has a form of its own. */
  answerFailure?(gateway: Gateway, call: FailedCall): ToolResult | undefined;
}

/**
 * Defines a preset.
 *
 * @example
 * ```ts
 * import { definePreset, textResult } from "toolpipe";
 *
 * export const tiny = definePreset({
 *   name: "tiny",
 *   plugins: [],
 *   tools: [{ name: "ping", inputSchema: { type: "object" }, run: () => textResult("pong") }],
 * });
 * ```
 */
export function definePreset<const Plugins extends readonly Plugin[]>(preset: {
  readonly name: string;
  readonly plugins: Plugins;
  readonly tools?: MetaTools;
  instructions?(gateway: Gateway, exposure?: Exposure): string;
  describe?(gateway: Gateway, exposure?: Exposure): readonly Tool[];
  answerFailure?(gateway: Gateway, call: FailedCall): ToolResult | undefined;
}): Preset<Plugins> {
  const defined = { ...preset, tools: preset.tools ?? [] };
  if (!isPreset(defined)) {
    throw new GatewayError(
      "CONFIG_INVALID",
      `The preset "${String(preset.name)}" must have a name and a list of plugins.`,
    );
  }
  return Object.freeze(defined);
}

/** Returns whether a value is a preset. */
export function isPreset(value: unknown): value is Preset {
  const preset = value as Partial<Preset> | null | undefined;
  return (
    typeof preset === "object" &&
    typeof preset?.name === "string" &&
    preset.name !== "" &&
    Array.isArray(preset.plugins) &&
    preset.plugins.every(isPlugin) &&
    (Array.isArray(preset.tools) || typeof preset.tools === "function")
  );
}
