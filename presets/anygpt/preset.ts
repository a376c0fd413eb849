import { definePreset, type Preset } from "../../core/mod.ts";
import { audit } from "../../plugins/audit/mod.ts";
import { results } from "../../plugins/results/mod.ts";
import { search } from "../../plugins/search/mod.ts";
import { timeout } from "../../plugins/timeout.ts";
import { validate } from "../../plugins/validate.ts";
import { exposure } from "../_exposure.ts";
import { servers } from "../_servers.ts";
import { answers } from "./answers.ts";
import { describeTools, instructions } from "./describe.ts";
import { metaTools } from "./tools.ts";

/** Five meta-tools in place of every definition: list, search, list the tools of one server, details, execute. */
export const anygpt: Preset = definePreset({
  name: "anygpt",
  plugins: [audit(), ...servers(), exposure(), search(), answers(), validate(), results(), timeout()],
  tools: metaTools,
  instructions,
  describe: describeTools,
});
