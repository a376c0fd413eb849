/**
 * The preset of the gateway specification: five tools for an agent in place of every operation of REST APIs and MCP
 * servers, with guarded execution.
 *
 * @module
 */
import { definePreset, type ErrorKind, errorKinds, type Plugin, type Preset } from "../../core/mod.ts";
import {
  CLIENT_CANNOT,
  CLIENT_FAILED,
  CLIENT_LEFT,
  CLIENT_SILENT,
  QUESTIONS_FULL,
} from "../../core/services/clients.ts";
import { audit } from "../../plugins/audit/mod.ts";
import { guard } from "../../plugins/guard/mod.ts";
import { knownOperations, openapi } from "../../plugins/openapi/mod.ts";
import { rates } from "../../plugins/rates.ts";
import { type RelayOptions, relay } from "../../plugins/relay/mod.ts";
import { results } from "../../plugins/results/mod.ts";
import { retry } from "../../plugins/retry/mod.ts";
import { search } from "../../plugins/search/mod.ts";
import { timeout } from "../../plugins/timeout.ts";
import { validate } from "../../plugins/validate.ts";
import { createBasePlugins } from "../shared/base.ts";
import { exposure } from "../shared/exposure.ts";
import { describeGatewayTools, writeGatewayInstructions } from "./describe.ts";
import { discovery } from "./discovery.ts";
import { executeTool } from "./execute.ts";
import { answerFailure } from "./failure.ts";
import { intentTool } from "./intent.ts";
import { adaptersTool, toolsTool } from "./lists.ts";
import { getSettings } from "./options.ts";
import { overlays } from "./overlays.ts";
import { createReferenceTool } from "./reference.ts";
import { registry } from "./registry-plugin.ts";

export { createIntentRanker, type IntentRankerOptions } from "./intent-ranker.ts";
export type { OperationDiscoveryOptions } from "./options.ts";
export type { OperationRegistryOptions } from "./registry-plugin.ts";
export { discovery, overlays, registry };

const plugins: readonly Plugin[] = [
  guard(),
  knownOperations(),
  audit(),
  ...createBasePlugins(),
  openapi({ overlays }),
  search(),
  discovery(),
  exposure(),
  relayInFullMode(),
  validate(),
  results(),
  rates(),
  timeout(),
  retry(),
  registry(),
];

/** Every kind of failure that a call can end with. */
const kinds: readonly ErrorKind[] = [
  ...Object.values(errorKinds),
  ...plugins.flatMap(({ errors = {} }) => Object.values(errors)),
  ...[CLIENT_CANNOT, CLIENT_FAILED, CLIENT_LEFT, CLIENT_SILENT, QUESTIONS_FULL],
];

/** Preset that begins with the intent: describe a task, get an operation that is ready to execute. */
export const gateway: Preset = definePreset({
  name: "gateway",
  plugins,
  tools: [intentTool, executeTool, adaptersTool, toolsTool, createReferenceTool(kinds)],
  instructions: writeGatewayInstructions,
  describe: describeGatewayTools,
  answerFailure,
});

/** Relays resources and prompts of servers in full mode only: in lazy mode they would fill the lists it keeps short. */
function relayInFullMode(plugin: Plugin<"relay", RelayOptions> = relay()): Plugin<"relay", RelayOptions> {
  return {
    ...plugin,
    setup: (gateway) => (getSettings(gateway).mode === "full" ? plugin.setup(gateway) : undefined),
    configure: (overrides) => relayInFullMode(plugin.configure?.(overrides)),
  };
}
