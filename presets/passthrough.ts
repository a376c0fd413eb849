import { definePreset, type Preset } from "../core/mod.ts";
import { audit } from "../plugins/audit/mod.ts";
import { timeout } from "../plugins/timeout.ts";
import { validate } from "../plugins/validate.ts";
import { servers } from "./_servers.ts";

/**
 * No meta-tools: the agent sees the tools of every server themselves, and their results as they are. Large ones are not
 * cut: their clients know the output schemas, and insist on them.
 */
export const passthrough: Preset = definePreset({
  name: "passthrough",
  plugins: [audit(), ...servers(), validate(), timeout()],
});
