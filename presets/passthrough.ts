import { definePreset, type Preset } from "../core/mod.ts";
import { audit } from "../plugins/audit/mod.ts";
import { relay } from "../plugins/relay/mod.ts";
import { timeout } from "../plugins/timeout.ts";
import { validate } from "../plugins/validate.ts";
import { createBasePlugins } from "./shared/base.ts";

/**
 * Preset without meta-tools: the agent sees the tools, resources and prompts of every server as they are. Large results
 * are not cut, since clients check them against the output schemas. Lists keep the order of the server entries, and
 * within a server its own order, so that they stay the same.
 *
 * @example
 * ```ts
 * import { createGateway } from "toolpipe";
 * import { passthrough } from "toolpipe/presets/passthrough";
 *
 * const gateway = await createGateway({ preset: passthrough });
 * console.log(gateway.tools.map(({ id }) => id));
 * await gateway.close();
 * ```
 */
export const passthrough: Preset = definePreset({
  name: "passthrough",
  plugins: [audit(), ...createBasePlugins(), relay(), validate(), timeout()],
});
