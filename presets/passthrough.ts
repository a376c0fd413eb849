import { definePreset, type Preset } from "../core/mod.ts";
import { audit } from "../plugins/audit/mod.ts";
import { relay } from "../plugins/relay/mod.ts";
import { timeout } from "../plugins/timeout.ts";
import { validate } from "../plugins/validate.ts";
import { servers } from "./_servers.ts";

/**
 * No meta-tools: the agent sees the tools of every server themselves, and their results as they are, and so their
 * resources and prompts. Large results are not cut: their clients know the output schemas, and insist on them. Lists
 * have the order of the definitions of the servers, and within each the server's own, so that they stay the same.
 */
export const passthrough: Preset = definePreset({
  name: "passthrough",
  plugins: [audit(), ...servers(), relay(), validate(), timeout()],
});
