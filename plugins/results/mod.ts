/**
 * Keeps answers to agents within bounds: cuts large results, and answers long calls with a link.
 *
 * @module
 */
import * as v from "valibot";
import { LONGEST_TIMER_MS } from "../../core/hooks.ts";
import { type Call, definePlugin, type Tool, textResult } from "../../core/mod.ts";
import { option, wholeNumber } from "../lib/options.ts";
import { createKeptResults, type KeptResults } from "./kept-results.ts";
import { reader, toPageResource, toPageResult } from "./page.ts";
import { fitsBudget } from "./size.ts";

const milliseconds = (least: number) =>
  v.pipe(wholeNumber(least), v.maxValue(LONGEST_TIMER_MS, "a number of milliseconds that a timer can hold"));

const options = v.strictObject({
  maxBytes: option(
    wholeNumber(4_000),
    "Bytes of text that an agent is shown at once. Hosts limit the answer of a tool to about 25,000 tokens, and even text that is hard on a tokenizer (digits, base64) has two bytes to a token.",
    50_000,
  ),
  maxMediaBytes: option(
    wholeNumber(0),
    "Characters of images, audio and other base64 that an agent is shown at once. A model does not read them as text, but some hosts limit the whole message to 1 MB.",
    1_000_000,
  ),
  keepMs: option(
    milliseconds(1),
    "Milliseconds for which the parts that were not shown can be read, from the last reading on.",
    3_600_000,
  ),
  maxKeptBytes: option(
    wholeNumber(0),
    "Bytes that are kept at most; the oldest results go first.",
    50_000_000,
  ),
  waitMs: option(
    milliseconds(0),
    "Milliseconds after which a call is answered with a link to its result; 0 means never. Most clients give up after 60 seconds. Only a call that was allowed more than the default time limit, or reports progress, takes this long.",
    50_000,
  ),
  maxRunning: option(
    wholeNumber(0),
    "Calls that may go on at once after their clients were answered with a link; others are waited for.",
    32,
  ),
});

/** Options of {@link results}. */
export type ResultsOptions = v.InferInput<typeof options>;

/** Options of {@link results} with their defaults. */
export type ResultsSettings = v.InferOutput<typeof options>;

/** The longest time that an agent which reads the result of a running call waits for it. */
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
 * Cuts results that are too large to be shown, and lets long calls go on in the background. The rest can be read as a
 * resource or with the tool `read_result`. It acts only where a gateway is served to agents: a program that calls the
 * gateway, or a user at a terminal, gets whole results, and so does the audit log.
 */
export const results = definePlugin({
  name: "results",
  uses: [],
  provides: ["results"],
  options,
  setup(gateway, settings) {
    const former = gateway.previous?.services.results;
    // Results of another plugin cannot be read here.
    const kept = createKeptResults(
      settings,
      readResult,
      former && "find" in former ? (former as KeptResults) : undefined,
    );
    gateway.provide("results", {
      ...kept,
      fit: (result, ...given) => (fitsBudget(result, settings) ? result : kept.fit(result, ...given)),
    });
    gateway.register("resources", "results", {
      list: ({ actor }) => kept.list(actor),
      read(uri, { actor }) {
        const page = kept.find(uri, actor);
        return page && toPageResource(uri, page);
      },
    });
    // Shorter than `waitMs`, so that reading is not itself a long call.
    const waitMs = Math.min(READ_WAIT_MS, settings.waitMs / 2);
    return {
      // Bound here and in no list: agents pay tokens for a list, and an answer names this tool when it is needed.
      resolve(call) {
        if (call.toolId === readResult.id && !gateway.catalog.tool(readResult.id)) call.tool = readResult;
      },
      execute: (call, next) => (call.tool === readResult ? answer(call) : next()),
    };

    async function answer(call: Call): Promise<void> {
      const uri = String(call.args["uri"]);
      await kept.settled(uri, { actor: call.actor, ms: waitMs, signal: call.signal });
      const page = kept.find(uri, call.actor);
      call.result = page
        ? toPageResult(page)
        : { ...textResult("This is not the URI of a result."), isError: true };
    }
  },
});
