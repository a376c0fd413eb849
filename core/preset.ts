import { GatewayError } from "./errors.ts";
import type { Gateway } from "./gateway.ts";
import type { LocalTool, LocalTools } from "./local-tools.ts";
import { isPlugin, type Plugin } from "./plugin.ts";
import type { Tool } from "./tool.ts";

/** A tool of the gateway itself, which an agent sees in place of the catalog. */
export type MetaTool = LocalTool;

/** Tools of the gateway itself, or what makes them once all plugins are set up. */
export type MetaTools = LocalTools;

/** What an agent sees: the tools of the gateway itself, those of the servers, or both. */
export type Exposure = "meta" | "tools" | "both";

/** A ready assembly: plugins, and the tools an agent sees. */
export interface Preset<Plugins extends readonly Plugin[] = readonly Plugin[]> {
  readonly name: string;
  readonly plugins: Plugins;
  /** None means that the agent sees the tools of the catalog themselves. */
  readonly tools: MetaTools;
  /** What an agent is told of the gateway as a whole when it connects. */
  instructions?(gateway: Gateway, exposure?: Exposure): string;
  /** The tools as an agent sees them now, where that depends on what is in the catalog, or on who looks. */
  describe?(gateway: Gateway, exposure?: Exposure): readonly Tool[];
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

/** Whether a value can be used as a preset. */
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
