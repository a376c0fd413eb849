/**
 * The presets by name, each loaded when it is chosen.
 *
 * @module
 */
import type { PresetTable } from "../core/mod.ts";

/** The presets that a config or `--preset` can name. */
export const presets = {
  anygpt: async () => (await import("./anygpt/preset.ts")).anygpt,
  gateway: async () => (await import("./gateway/mod.ts")).gateway,
  passthrough: async () => (await import("./passthrough.ts")).passthrough,
} satisfies PresetTable;
