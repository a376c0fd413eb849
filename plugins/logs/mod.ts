import process from "node:process";
import * as v from "valibot";
import { definePlugin, type Gateway, GatewayError, type SettledCall, version } from "../../core/mod.ts";
import { option } from "../lib/options.ts";
import { createRedactor, type Redact, redactSecrets } from "../lib/redact.ts";
import { getCallLabels, parseTraceContext } from "../lib/telemetry.ts";

/** The level of a log line. */
type LogLevel = "debug" | "info" | "warn" | "error";

const levels: readonly LogLevel[] = ["debug", "info", "warn", "error"];
const options = v.strictObject({
  level: option(v.picklist(levels), "The lowest level that is written.", "info"),
  write: option(
    v.custom<(line: string) => void>((value) => typeof value === "function", "a function"),
    "Writes a line, which has no line break at its end. By default it is written to standard error, because standard output may carry the protocol.",
    () => writeToStderr,
  ),
});

/** Options of {@link logs}. */
export type LogsOptions = v.InferInput<typeof options>;

/** The longest string in a line: callers choose some of them. */
const MAX_STRING = 500;
const MAX_CALLERS = 10;

/**
 * Writes a JSON object per line for every call and every failure outside of calls. Arguments and results are never
 * written, and secrets are redacted from error messages.
 */
export const logs = definePlugin({
  name: "logs",
  uses: [],
  options,
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
        const level = chooseLevel(call);
        if (!isWanted(level)) return;
        const { error } = call;
        const details =
          least === "debug" && error?.code === "INTERNAL" ? toCauseFields(error, call.args) : {};
        log(level, "call", { ...toCallFields(call, gateway), ...details });
      },
      error(error) {
        const { code, message } = error;
        const details = least === "debug" ? toCauseFields(error) : {};
        log("error", "error", { code, message: toSafeString(message), ...details });
      },
    };
  },
});

function chooseLevel(call: SettledCall): LogLevel {
  // Meta-tools are called often, and few users want to read of it.
  if (call.ok) return call.tool?.builtin && !call.result.isError ? "debug" : "info";
  return call.error.code === "INTERNAL" ? "error" : "warn";
}

function toCallFields(call: SettledCall, { catalog }: Gateway): Record<string, unknown> {
  const { outcome, stage, via } = getCallLabels(call);
  const { traceparent } = parseTraceContext(call.meta);
  return {
    id: call.id,
    ...(call.parentId && { parent: call.parentId }),
    ...(traceparent && { trace: traceparent.split("-")[1] }),
    // The id of the catalog where there is one: the caller may have written anything.
    tool: call.tool?.id ?? toSafeString(call.toolId),
    actor: toSafeString(call.actor.id),
    outcome,
    stage,
    ...(via !== "" && { via }),
    ms: Math.round(call.durationMs * 1_000) / 1_000,
    ...(!call.ok && { message: toSafeString(call.error.message, createRedactor(listArguments())) }),
  };

  /** Lists the argument values to redact. Names in the catalog are no secrets, and are arguments of meta-tools. */
  function listArguments(): readonly string[] {
    const strings = findStrings(call.args);
    if (!call.tool?.builtin) return strings;
    const server = strings.find((value) => catalog.server(value));
    const names = new Set(server === undefined ? [] : catalog.tools(server).map(({ name }) => name));
    return strings.filter((value) => value !== server && !names.has(value));
  }
}

/** Lists the strings of the arguments: a server may repeat any of them in its error message. */
function findStrings(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return value.trim().length >= 4 ? [value, value.trim()] : [];
  if (typeof value !== "object" || value === null || depth > 8) return [];
  return Object.values(value)
    .slice(0, 1_000)
    .flatMap((one) => findStrings(one, depth + 1));
}

function toSafeString(text: string, redact: Redact = (own) => own): string {
  const clean = redactSecrets(redact(text)).replace(/\p{C}+/gu, " ");
  return clean.length <= MAX_STRING ? clean : `${clean.slice(0, MAX_STRING)}…`;
}

/** Lists the causes of a failure, and the stack of the last that has one: where a plugin threw. */
function toCauseFields(error: GatewayError, args: unknown = {}): Record<string, unknown> {
  const redact = createRedactor(findStrings(args));
  const causes: string[] = [];
  let stack: readonly string[] = [];
  let next: unknown = error.cause;
  for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
    causes.push(toSafeString(`${GatewayError.is(next) ? next.code : next.name}: ${next.message}`, redact));
    // A GatewayError has no stack.
    if (!GatewayError.is(next)) stack = next.stack?.match(/^ +at .+$/gm)?.slice(0, MAX_CALLERS) ?? [];
    next = next.cause;
  }
  return {
    ...(causes.length > 0 && { causes }),
    ...(stack.length > 0 && { stack: stack.map((line) => toSafeString(line.trim(), redact)) }),
  };
}

function writeToStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
