import { type CallRequest, type Gateway, GatewayError, type ToolResult } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { runInner } from "../../presets/_answers.ts";
import { runTarget, type Target } from "../../presets/anygpt/execute.ts";
import { untilInterrupted } from "../lib/terminal/interrupt.ts";
import { usageError } from "../lib/terminal/output.ts";
import { askForTool, waitingLine } from "../lib/terminal/servers.ts";
import { trace as tracePlugin } from "../trace.ts";
import { openGateway } from "./context.ts";
import { executionView } from "./execution-view.ts";

/** Executes one tool. */
export const execute: Command = defineCommand({
  args: {
    server: { type: "positional", required: true, description: "The server" },
    tool: { type: "positional", required: true, description: "The tool" },
    args: {
      type: "string",
      description: "The arguments of the tool, as JSON",
      default: "{}",
      valueHint: "JSON",
    },
    stream: { type: "boolean", description: "Print what the tool tells on its way, as it comes" },
    json: { type: "boolean", description: "Print JSON; with --stream, one object a line" },
    trace: { type: "boolean", description: "Print the stages of the call to standard error" },
    ...configArgs,
  },
  async run(given) {
    const { server, tool } = given;
    const target = { server, tool, args: parseArguments(given.args) };
    const view = executionView(target, given);
    return untilInterrupted((signal) =>
      openGateway(
        given,
        async (gateway) => {
          view.begin();
          try {
            // A server that is only being started has nothing to cancel yet; closing the gateway ends it.
            await Promise.race([askForTool(gateway, server, tool), aborted(signal)]);
            // What comes on the way says it better.
            const done = given.stream ? () => {} : waitingLine(`Executing ${server}:${tool} …`);
            return view.end(await run(gateway, target, { signal, onProgress: view.progress }).finally(done));
          } catch (thrown) {
            return view.fail(GatewayError.from(thrown));
          }
        },
        { with: given.trace ? [tracePlugin()] : [] },
      ),
    );
  },
});

function run(
  gateway: Gateway,
  target: Target,
  request: Pick<CallRequest, "signal" | "onProgress">,
): Promise<ToolResult> {
  const { server, tool, args } = target;
  const own = gateway.catalog.tool(`${server}:${tool}`);
  // The tools that an agent sees are no server's, but a person may want to try them.
  return own?.builtin
    ? runInner(gateway, { ...request, tool: own.id, args })
    : runTarget(gateway, target, request);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function parseArguments(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw usageError(`--args is not JSON: ${(cause as Error).message}.`);
  }
}
