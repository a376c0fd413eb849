import { once } from "node:events";
import {
  type CallRequest,
  errorKinds,
  type Gateway,
  GatewayError,
  type JsonObject,
  type Plugin,
  type Progress,
  type ToolResult,
} from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import { requestMeta } from "../../core/services/policy.ts";
import { type ExecutionResult, toExecutionResult, toFailedResult } from "../../presets/anygpt/envelope.ts";
import { runTarget, type Target } from "../../presets/anygpt/execute.ts";
import { answerDryRun } from "../guard/mod.ts";
import { askForTool, showWaiting } from "../lib/servers.ts";
import { colorMarks, toTerminalLine, toTerminalLines, usageError } from "../lib/terminal/output.ts";
import { untilInterrupted } from "../lib/terminal/process.ts";
import { openGateway } from "./context.ts";
import { formatResult } from "./format-result.ts";

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
    json: {
      type: "boolean",
      description: 'Print JSON; with --stream one object a line, of type "progress" and at last "result"',
    },
    "idempotency-key": {
      type: "string",
      description: "Key under which the call happens at most once; high-risk tools need one",
      valueHint: "KEY",
    },
    confirm: { type: "boolean", description: "Confirm the call; destructive tools need that" },
    "dry-run": { type: "boolean", description: "Print what would be sent, and send nothing" },
    ...configArgs,
  },
  async run(given) {
    const { server, tool } = given;
    const target = { server, tool, args: parseArguments(given.args) };
    const view = createExecutionView(target, given);
    const meta = toRequestMeta(given);
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
              await runTool(gateway, target, { signal, onProgress: view.progress, meta }).finally(done),
            );
          } catch (thrown) {
            return view.fail(GatewayError.from(thrown));
          }
        },
        { with: given["dry-run"] ? [dryRun] : [] },
      ),
    );
  },
});

interface GuardArgs {
  readonly "idempotency-key"?: string | undefined;
  readonly confirm?: boolean | undefined;
  readonly "dry-run"?: boolean | undefined;
}

function toRequestMeta({ "idempotency-key": key, confirm, "dry-run": isDryRun }: GuardArgs): JsonObject {
  return {
    ...(key !== undefined && { [requestMeta.idempotencyKey]: key }),
    ...(confirm === true && { [requestMeta.confirmed]: true }),
    ...(isDryRun === true && { [requestMeta.dryRun]: true }),
  };
}

/** Answers a dry run where the config has no guard that does. */
const dryRun: Plugin = {
  name: "dry-run",
  uses: [],
  setup: () => ({
    execute: (call, next) => (call.tool && !call.tool.builtin ? answerDryRun(call, call.tool, next) : next()),
  }),
};

async function runTool(
  gateway: Gateway,
  target: Target,
  request: Pick<CallRequest, "signal" | "onProgress" | "meta">,
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

/** Options that end a refusal by the guard. */
const REQUIRED_OPTIONS: Readonly<Record<string, string>> = {
  IDEMPOTENCY_REQUIRED: "--idempotency-key KEY",
  CONFIRMATION_REQUIRED: "--confirm",
};

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
  const print = (outcome: ExecutionResult, describe: () => string): void => {
    const { error } = outcome;
    if (json) printJson("result", outcome);
    else if (!error) printBlock(`${colorMarks("✓ Success")}\n\nResult:\n${describe()}\n`);
    else
      printBlock(
        `${colorMarks("✗ Error")}\n\nCode: ${error.code}\nMessage: ${toTerminalLines(error.message)}\nServer: ${toTerminalLine(server)}\nTool: ${toTerminalLine(tool)}\n`,
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
      const outcome = toExecutionResult(result, server, tool);
      print(outcome, () => toTerminalLines(formatResult(result)).replace(/^/gm, "  "));
      return outcome.success ? 0 : errorKinds.INTERNAL.exit;
    },
    /** Prints an error and returns the exit code. */
    fail(error: GatewayError): number {
      print(toFailedResult(error, server, tool), () => "");
      const option = REQUIRED_OPTIONS[error.code];
      if (option !== undefined) process.stderr.write(`Add ${option} to the command.\n`);
      return error.kind.exit;
    },
  };
}

function formatProgress({ progress, total, message }: Progress): string {
  const place = total === undefined ? `${progress}` : `${progress} of ${total}`;
  return `… ${place}${message === undefined ? "" : `: ${toTerminalLines(message)}`}`;
}
