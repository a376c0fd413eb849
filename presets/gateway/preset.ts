import { definePreset, type Preset } from "../../core/mod.ts";
import { audit } from "../../plugins/audit/mod.ts";
import { guard } from "../../plugins/guard/mod.ts";
import { knownOperations, openapi } from "../../plugins/openapi/mod.ts";
import { rates } from "../../plugins/rates.ts";
import { results } from "../../plugins/results/mod.ts";
import { retry } from "../../plugins/retry/mod.ts";
import { search } from "../../plugins/search/mod.ts";
import { timeout } from "../../plugins/timeout.ts";
import { validate } from "../../plugins/validate.ts";
import { exposure } from "../_exposure.ts";
import { relayWhen } from "../_relay-when.ts";
import { servers } from "../_servers.ts";
import { adapters } from "./adapters.ts";
import { describeTools, instructions } from "./describe.ts";
import { discovery } from "./discovery.ts";
import { execute } from "./execute.ts";
import { intent } from "./intent.ts";
import { optionsOf } from "./options-of.ts";
import { overlays } from "./overlays.ts";
import { reference } from "./reference.ts";
import { registry } from "./registry-plugin.ts";
import { tools } from "./tools.ts";

/** Intent first: describe a task, get an operation of a REST API or an MCP server that is ready to execute. */
export const gateway: Preset = definePreset({
  name: "gateway",
  plugins: [
    guard(),
    knownOperations(),
    audit(),
    ...servers(),
    openapi({ overlays }),
    search(),
    discovery(),
    exposure(),
    relayWhen((gateway) => optionsOf(gateway).mode === "full"),
    validate(),
    results(),
    rates(),
    timeout(),
    retry(),
    registry(),
  ],
  tools: [intent, execute, adapters, tools, reference],
  instructions,
  describe: describeTools,
});
