import { once } from "node:events";
import {
  type CallRequest,
  type ContentBlock,
  errorKinds,
  type Gateway,
  GatewayError,
  type Progress,
  type ToolResult,
} from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import {
  type ExecutionError,
  runTarget,
  type Target,
  toExecutionError,
  toToolError,
} from "../../presets/anygpt/execute.ts";
import { askForTool, showWaiting } from "../lib/servers.ts";
import { colorMarks, toTerminalLine, toTerminalLines, usageError } from "../lib/terminal/output.ts";
import { untilInterrupted } from "../lib/terminal/process.ts";
import { trace as tracePlugin } from "../trace.ts";
import { openGateway } from "./context.ts";

/** Executes one tool. */
export const command = defineCommand({
  args: {
    server: { type: "positional", required: true, description: "The server" },
    tool: { type: "positional", required: true, description: "The tool" },
    args: {
      type: "string",
      description: "The arguments of the tool, as JSON",
      default: "{}",
      valueHint: "JSON",
    },
    stream: { type: "boolean", description: "Print the progress of the tool" },
    json: { type: "boolean", description: "Print JSON; with --stream, one object a line" },
    trace: { type: "boolean", description: "Print the stages of the call to standard error" },
    ...configArgs,
  },
  async run(given) {
    const { server, tool } = given;
    const target = { server, tool, args: parseArguments(given.args) };
    const view = createExecutionView(target, given);
    return untilInterrupted((signal) =>
      openGateway(
        given,
        async (gateway) => {
          view.begin();
          try {
            // A server that is still starting has no call to cancel; closing the gateway ends it.
            await Promise.race([askForTool(gateway, server, tool), signal.aborted || once(signal, "abort")]);
            // Progress replaces the waiting line.
            const done = given.stream ? () => {} : showWaiting(`Executing ${server}:${tool} …`);
            return view.end(
              await runTool(gateway, target, { signal, onProgress: view.progress }).finally(done),
            );
          } catch (thrown) {
            return view.fail(GatewayError.from(thrown));
          }
        },
        { with: given.trace ? [tracePlugin()] : [] },
      ),
    );
  },
});

async function runTool(
  gateway: Gateway,
  target: Target,
  request: Pick<CallRequest, "signal" | "onProgress">,
): Promise<ToolResult> {
  const { server, tool, args } = target;
  const own = gateway.catalog.tool(`${server}:${tool}`);
  // The meta-tools that an agent sees belong to no server, but can be tried here.
  if (!own?.builtin) return runTarget(gateway, target, request);
  const call = await gateway.run({ ...request, tool: own.id, args });
  if (!call.ok) throw call.error;
  return call.result;
}

function parseArguments(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (cause) {
    throw usageError(`--args is not JSON: ${(cause as Error).message}.`);
  }
}

/** Creates a view in the format of the specification, or as JSON: one object, or with `stream` one for each event. */
function createExecutionView(
  { server, tool }: { readonly server: string; readonly tool: string },
  { json, stream }: { readonly json?: boolean | undefined; readonly stream?: boolean | undefined },
) {
  let steps = 0;
  const printJson = (event: string, value: object): void => {
    process.stdout.write(`${JSON.stringify(stream ? { type: event, ...value } : value)}\n`);
  };
  const printBlock = (block: string): void => {
    process.stdout.write(steps > 0 ? `\n${block}` : block);
  };
  const printError = (error: ExecutionError): void => {
    const { code, message } = error;
    if (json) printJson("result", { success: false, error });
    else
      printBlock(
        `${colorMarks("✗ Error")}\n\nCode: ${code}\nMessage: ${toTerminalLines(message)}\nServer: ${toTerminalLine(server)}\nTool: ${toTerminalLine(tool)}\n`,
      );
  };

  return {
    begin() {
      if (!json) process.stdout.write(`Executing: ${toTerminalLine(`${server}:${tool}`)}\n\n`);
    },
    progress(progress: Progress) {
      if (!stream) return;
      if (json) return printJson("progress", progress);
      steps++;
      process.stdout.write(`${formatProgress(progress)}\n`);
    },
    /** Prints a result and returns the exit code. */
    end(result: ToolResult): number {
      if (result.isError) {
        printError(toToolError(result, server, tool));
        return errorKinds.INTERNAL.exit;
      }
      if (json) printJson("result", { success: true, result });
      else
        printBlock(
          `${colorMarks("✓ Success")}\n\nResult:\n${toTerminalLines(formatResult(result)).replace(/^/gm, "  ")}\n`,
        );
      return 0;
    },
    /** Prints an error and returns the exit code. */
    fail(error: GatewayError): number {
      printError(toExecutionError(error, server, tool));
      return error.kind.exit;
    },
  };
}

function formatProgress({ progress, total, message }: Progress): string {
  const place = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return `… ${place}${message === undefined ? "" : `: ${toTerminalLines(message)}`}`;
}

function formatResult({ content, structuredContent }: ToolResult): string {
  if (content.length > 0) return content.map(formatBlock).join("\n");
  return structuredContent === undefined ? "(nothing)" : JSON.stringify(structuredContent, null, 2);
}

function formatBlock(block: ContentBlock): string {
  if (block.type === "text") return String(block["text"]);
  const facts = [block["mimeType"], block["uri"]].filter((fact) => typeof fact === "string");
  return `[${[block.type, ...facts].join(" ")}]`;
}
