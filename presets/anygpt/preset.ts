import { definePreset, type Preset } from "../../core/mod.ts";
import { audit } from "../../plugins/audit/mod.ts";
import { results } from "../../plugins/results/mod.ts";
import { search } from "../../plugins/search/mod.ts";
import { timeout } from "../../plugins/timeout.ts";
import { validate } from "../../plugins/validate.ts";
import { createBasePlugins } from "../shared/base.ts";
import { exposure } from "../shared/exposure.ts";
import { answers } from "./answers.ts";
import { describeAnygptTools, writeAnygptInstructions } from "./describe.ts";
import { metaTools } from "./tools.ts";

/** Preset with five meta-tools in place of every definition: list servers, search, list tools, details, execute. */
export const anygpt: Preset = definePreset({
  name: "anygpt",
  plugins: [
    audit(),
    ...createBasePlugins(),
    exposure(),
    search(),
    answers(),
    validate(),
    results(),
    timeout(),
  ],
  tools: metaTools,
  instructions: writeAnygptInstructions,
  describe: describeAnygptTools,
});
