import { inspect } from "node:util";
import * as v from "valibot";
import { type Call, definePlugin, GatewayError, type PluginFactory, type SettledCall } from "../core/mod.ts";
import { masked } from "./lib/redact.ts";

/** The options of {@link trace}. */
export interface TraceOptions {
  /** Takes each line; prints it to standard error by default, because standard output may carry the protocol. */
  readonly write?: (line: string) => void;
}

const options = v.strictObject({
  write: v.optional(v.custom<(line: string) => void>((value) => typeof value === "function", "a function")),
});

interface Mark {
  readonly stage: string;
  readonly at: number;
}

/** Prints every call with its five stages and the time each took. */
export const trace: PluginFactory<"trace", TraceOptions> = definePlugin({
  name: "trace",
  uses: [],
  // First in every stage, so that it sees each one begin.
  order: "pre",
  options: options as v.GenericSchema<TraceOptions, TraceOptions>,
  setup(_gateway, { write = toStderr }) {
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
    };
  },
});

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}

function describe(call: SettledCall, marks: readonly Mark[]): string[] {
  const indent = call.parentId ? "    " : "";
  const end = performance.now();
  const stages = marks.map(({ stage, at }, index) => {
    const took = (marks[index + 1]?.at ?? end) - at;
    return `${indent}  ${stage.padEnd(9)}${took.toFixed(2).padStart(8)} ms${stage === call.stage ? ending(call) : ""}`;
  });
  // A call can end before any hook sees it, or in a hook that runs before ours.
  if (!marks.some(({ stage }) => stage === call.stage)) {
    stages.push(`${indent}  ${call.stage.padEnd(9)}${"-".padStart(8)}   ${ending(call)}`);
  }
  return [
    `${indent}${call.toolId}`,
    ...stages,
    ...(call.error?.code === "INTERNAL" ? causesOf(call.error.cause, `${indent}    `) : []),
    `${indent}  ${"audit".padEnd(9)}${call.durationMs.toFixed(2).padStart(8)} ms in all`,
  ];
}

/** The causes of a failure with their stacks: where a plugin threw. */
function causesOf(cause: unknown, indent: string): string[] {
  if (!(cause instanceof Error))
    return cause === undefined ? [] : [`${indent}caused by ${masked(inspect(cause))}`];
  // An error of the gateway has no stack.
  const text = GatewayError.is(cause) ? `${cause.code}: ${cause.message}` : (cause.stack ?? String(cause));
  const lines = `caused by ${masked(text)}`.split("\n").map((line) => indent + line);
  return [...lines, ...causesOf(cause.cause, indent)];
}

function ending(call: SettledCall): string {
  if (!call.ok) return `  ✗ ${call.error.code}: ${call.error.message}`;
  const mark = call.result.isError ? "✗" : "✓";
  return `  ${mark} ${call.via ? `via ${call.via}` : "answered"}`;
}
