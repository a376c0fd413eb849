import process from "node:process";
import * as v from "valibot";
import {
  definePlugin,
  type Gateway,
  GatewayError,
  type PluginFactory,
  type SettledCall,
  version,
} from "../../core/mod.ts";
import { getCallLabels } from "../lib/call-labels.ts";
import { masked, type Redact, redactor } from "../lib/redact.ts";
import { traceContextIn } from "../lib/trace-context.ts";

export {
  type Redact,
  redactError,
  redactor,
  redactResult,
  redactValue,
  secretArguments,
  secretsOf,
} from "../lib/redact.ts";

/** The level of a log line. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** Options of {@link logs}. */
export interface LogsOptions {
  /** The lowest level that is written; `info` by default. */
  readonly level?: LogLevel;
  /** Writes a line, without its end; to standard error by default, because standard output may carry the protocol. */
  readonly write?: (line: string) => void;
}

type Settings = Required<LogsOptions>;

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];
const options = v.strictObject({
  level: v.optional(v.picklist(levels), "info"),
  write: v.optional(
    v.custom<Settings["write"]>((value) => typeof value === "function", "a function"),
    () => toStderr,
  ),
});

/** The longest string in a line: callers choose some of them. */
const MAX_TEXT = 500;
const MAX_CALLERS = 10;

/**
 * Writes a JSON object per line for every call and every failure outside of calls. Arguments and results are never
 * written, and secrets are redacted from error messages.
 */
export const logs: PluginFactory<"logs", LogsOptions, Settings> = definePlugin({
  name: "logs",
  uses: [],
  options: options as v.GenericSchema<LogsOptions, Settings>,
  setup(gateway, { level: least, write }) {
    const isWanted = (level: LogLevel): boolean => levels.indexOf(level) >= levels.indexOf(least);
    const log = (level: LogLevel, event: string, fields: Readonly<Record<string, unknown>>): void => {
      if (!isWanted(level)) return;
      write(JSON.stringify({ time: new Date().toISOString(), level, event, ...fields }));
    };
    return {
      ready: () => log("info", "ready", { version, plugins: gateway.plugins, tools: gateway.tools.length }),
      close: () => log("info", "close", {}),
      "catalog:change": (revision) => {
        log("debug", "catalog", { revision, tools: gateway.catalog.tools().length });
      },
      audit(call) {
        const level = levelOf(call);
        if (!isWanted(level)) return;
        const { error } = call;
        const details = least === "debug" && error?.code === "INTERNAL" ? causeFields(error, call.args) : {};
        log(level, "call", { ...callFields(call, gateway), ...details });
      },
      error(error) {
        const { code, message } = error;
        const details = least === "debug" ? causeFields(error) : {};
        log("error", "error", { code, message: shown(message), ...details });
      },
    };
  },
});

function levelOf(call: SettledCall): LogLevel {
  // Searches of agents are of interest to few.
  if (call.ok) return call.tool?.builtin && !call.result.isError ? "debug" : "info";
  return call.error.code === "INTERNAL" ? "error" : "warn";
}

function callFields(call: SettledCall, { catalog }: Gateway): Record<string, unknown> {
  const { outcome, stage, via } = getCallLabels(call);
  const { traceparent } = traceContextIn(call.meta);
  return {
    id: call.id,
    ...(call.parentId && { parent: call.parentId }),
    ...(traceparent && { trace: traceparent.split("-")[1] }),
    // The id of the catalog where there is one: the caller may have written anything.
    tool: call.tool?.id ?? shown(call.toolId),
    actor: shown(call.actor.id),
    outcome,
    stage,
    ...(via !== "" && { via }),
    ms: Math.round(call.durationMs * 1_000) / 1_000,
    ...(!call.ok && { message: shown(call.error.message, redactor(sent())) }),
  };

  /** Lists the argument values to redact. Names in the catalog are no secrets, and are arguments of meta-tools. */
  function sent(): readonly string[] {
    const texts = textsIn(call.args);
    if (!call.tool?.builtin) return texts;
    const server = texts.find((text) => catalog.server(text));
    const names = new Set(server === undefined ? [] : catalog.tools(server).map(({ name }) => name));
    return texts.filter((text) => text !== server && !names.has(text));
  }
}

/** Lists the strings of the arguments: a server may repeat any of them in its error message. */
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return value.trim().length >= 4 ? [value, value.trim()] : [];
  if (typeof value !== "object" || value === null || depth > 8) return [];
  return Object.values(value)
    .slice(0, 1_000)
    .flatMap((one) => textsIn(one, depth + 1));
}

function shown(text: string, redact: Redact = (own) => own): string {
  const clean = masked(redact(text)).replace(/\p{C}+/gu, " ");
  return clean.length <= MAX_TEXT ? clean : `${clean.slice(0, MAX_TEXT)}…`;
}

/** The causes of a failure, and the stack of the last that has one: where a plugin threw. */
function causeFields(error: GatewayError, args: unknown = {}): Record<string, unknown> {
  const redact = redactor(textsIn(args));
  const causes: string[] = [];
  let stack: readonly string[] = [];
  let next: unknown = error.cause;
  for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
    causes.push(shown(`${GatewayError.is(next) ? next.code : next.name}: ${next.message}`, redact));
    // Ours record none.
    if (!GatewayError.is(next)) stack = next.stack?.match(/^ +at .+$/gm)?.slice(0, MAX_CALLERS) ?? [];
    next = next.cause;
  }
  return {
    ...(causes.length > 0 && { causes }),
    ...(stack.length > 0 && { stack: stack.map((line) => shown(line.trim(), redact)) }),
  };
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
