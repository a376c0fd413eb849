/**
 * Keeping what agents are answered within bounds: large results, and calls that take long.
 *
 * @module
 */
import { type Call, definePlugin, type PluginFactory, type Tool, textResult } from "../../core/mod.ts";
import { offerResources } from "../serve/resources.ts";
import { reader } from "./_note.ts";
import { toContents, toResult } from "./_reading.ts";
import { keptResults, type Results } from "./kept.ts";
import { type ResultsOptions, resultsOptions } from "./options.ts";

export type { LongCall, Results } from "./kept.ts";
export type { ResultsOptions } from "./options.ts";

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `results`. */
    results?: Results;
  }
}

/** How long an agent that reads a result which is not there yet waits for it, at most. */
const READ_WAIT_MS = 20_000;

const readResult: Tool = Object.freeze({
  id: `${reader.server}:${reader.tool}`,
  server: reader.server,
  name: reader.tool,
  builtin: true,
  description: "Reads what was not shown of a result, or the result of a call that took long",
  inputSchema: { type: "object", properties: { uri: { type: "string" } }, required: ["uri"] },
  annotations: { readOnlyHint: true, openWorldHint: false },
  tags: [],
  enabled: true,
});

/**
 * Cuts results that are too large to be shown, and lets calls that take long go on in the background; what is left out
 * can be read as a resource, or with the tool `read_result` by whoever can only call tools. It acts where a gateway is
 * served to agents, and not in the pipeline: a program that calls the gateway, or a person at a terminal, wants all of
 * a result, and a record of a call tells of the whole.
 */
export const results: PluginFactory<"results", ResultsOptions, Required<ResultsOptions>> = definePlugin({
  name: "results",
  options: resultsOptions,
  setup(gateway, options) {
    const kept = keptResults(options, readResult);
    gateway.services.results = kept;
    offerResources(gateway, {
      list: ({ actor }) => kept.list(actor),
      read(uri, { actor }) {
        const reading = kept.find(uri, actor);
        return reading && toContents(uri, reading);
      },
    });
    // Before an agent is told to wait once more, so that this call is not itself one that takes long.
    const waitMs = Math.min(READ_WAIT_MS, options.waitMs / 2);
    return {
      // Bound here and in no list: nobody has to search or pay for a tool that an answer names when it is needed.
      resolve(call) {
        if (call.toolId === readResult.id && !gateway.catalog.tool(readResult.id)) call.tool = readResult;
      },
      execute: (call, next) => (call.tool === readResult ? answer(call) : next()),
    };

    async function answer(call: Call): Promise<void> {
      const uri = String(call.args["uri"]);
      await kept.settled(uri, { actor: call.actor, ms: waitMs, signal: call.signal });
      const reading = kept.find(uri, call.actor);
      call.result = reading
        ? toResult(reading)
        : { ...textResult("This is not the URI of a result."), isError: true };
    }
  },
});
