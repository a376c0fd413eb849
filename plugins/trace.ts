import { inspect } from "node:util";
import * as v from "valibot";
import { type Call, definePlugin, GatewayError, type SettledCall } from "../core/mod.ts";
import { option } from "./lib/options.ts";
import { redactSecrets } from "./lib/redact.ts";

const options = v.strictObject({
  write: option(
    v.custom<(line: string) => void>((value) => typeof value === "function", "a function"),
    "Takes each line. By default it is written to standard error, because standard output may carry the protocol.",
  ),
});

/** Options of {@link trace}. */
export type TraceOptions = v.InferInput<typeof options>;

interface Mark {
  readonly stage: string;
  readonly at: number;
}

/** Prints every call with its five stages and the time each took. */
export const trace = definePlugin({
  name: "trace",
  uses: [],
  // First in every stage, so that it sees each one begin.
  order: "pre",
  options,
  setup(_gateway, { write = writeToStderr }) {
    const marks = new Map<string, Mark[]>();
    const mark = (call: Call): void => {
      const own = marks.get(call.id) ?? [];
      own.push({ stage: call.stage, at: performance.now() });
      marks.set(call.id, own);
    };
    return {
      resolve: mark,
      policy: mark,
      validate: mark,
      execute(call, next) {
        mark(call);
        return next();
      },
      audit(call) {
        const own = marks.get(call.id) ?? [];
        marks.delete(call.id);
        for (const line of describe(call, own)) write(line);
      },
      error(error) {
        for (const line of describeFailure(error)) write(line);
      },
    };
  },
});

function writeToStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

function describe(call: SettledCall, marks: readonly Mark[]): string[] {
  const indent = call.parentId ? "    " : "";
  const end = performance.now();
  const stages = marks.map(({ stage, at }, index) => {
    const took = (marks[index + 1]?.at ?? end) - at;
    return `${indent}  ${stage.padEnd(9)}${took.toFixed(2).padStart(8)} ms${stage === call.stage ? describeOutcome(call) : ""}`;
  });
  // A call can end before any hook sees it, or in a hook that runs before ours.
  if (!marks.some(({ stage }) => stage === call.stage)) {
    stages.push(`${indent}  ${call.stage.padEnd(9)}${"-".padStart(8)}   ${describeOutcome(call)}`);
  }
  return [
    `${indent}${call.toolId}`,
    ...stages,
    ...(call.error?.code === "INTERNAL" ? describeCauses(call.error.cause, `${indent}    `) : []),
    `${indent}  ${"audit".padEnd(9)}${call.durationMs.toFixed(2).padStart(8)} ms in all`,
  ];
}

/** Describes an error that no call returns, with its causes and their stacks. */
export function describeFailure({ code, message, cause }: GatewayError): string[] {
  return [`✗ ${code}: ${message}`, ...describeCauses(cause, "  ")];
}

/** Lists the causes of a failure with their stacks: where a plugin threw. */
function describeCauses(cause: unknown, indent: string): string[] {
  if (!(cause instanceof Error))
    return cause === undefined ? [] : [`${indent}caused by ${redactSecrets(inspect(cause))}`];
  // An error of the gateway has no stack.
  const stack = GatewayError.is(cause) ? `${cause.code}: ${cause.message}` : (cause.stack ?? String(cause));
  const lines = `caused by ${redactSecrets(stack)}`.split("\n").map((line) => indent + line);
  return [...lines, ...describeCauses(cause.cause, indent)];
}

function describeOutcome(call: SettledCall): string {
  if (!call.ok) return `  ✗ ${call.error.code}: ${call.error.message}`;
  const mark = call.result.isError ? "✗" : "✓";
  return `  ${mark} ${call.via ? `via ${call.via}` : "answered"}`;
}
