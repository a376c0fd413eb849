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
import { masked } from "../_masked.ts";
import { labelsOf } from "../metrics/call-labels.ts";
import { traceContextIn } from "../telemetry/trace-context.ts";
import { type Redact, redactor } from "./redact.ts";

export { type Redact, redactError, redactor, redactResult, redactValue } from "./redact.ts";
export { secretArguments, secretsOf } from "./secrets.ts";

/** How serious a line is. */
export type LogLevel = "debug" | "info" | "warn" | "error";

/** The options of {@link logs}. */
export interface LogsOptions {
  /** What is less serious than this is not written; `info` by default. */
  readonly level?: LogLevel;
  /** Takes each line, without its end; standard error by default, because standard output may carry the protocol. */
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

/** A caller may write anything there. */
const MAX_TEXT = 500;

/**
 * Writes one JSON object a line of what happens: every call with how it went, and whatever fails outside of calls.
 * Arguments and results are never written, and what errors say without what looks like a secret.
 */
export const logs: PluginFactory<"logs", LogsOptions, Settings> = definePlugin({
  name: "logs",
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
        if (isWanted(level)) log(level, "call", callFields(call, gateway));
      },
      error(error) {
        const { code, message } = error;
        const causes = least === "debug" ? causesOf(error) : [];
        log("error", "error", {
          code,
          message: shown(message),
          ...(causes.length > 0 && { causes: causes.map((cause) => shown(cause)) }),
        });
      },
    };
  },
});

function levelOf(call: SettledCall): LogLevel {
  // What an agent does to find a tool is of interest to few.
  if (call.ok) return call.tool?.builtin && !call.result.isError ? "debug" : "info";
  return call.error.code === "INTERNAL" ? "error" : "warn";
}

function callFields(call: SettledCall, { catalog }: Gateway): Record<string, unknown> {
  const { outcome, stage, via } = labelsOf(call);
  const { traceparent } = traceContextIn(call.meta);
  return {
    id: call.id,
    ...(call.parentId && { parent: call.parentId }),
    ...(traceparent && { trace: traceparent.split("-")[1] }),
    // As the catalog has it: as the caller wrote it, it may hold anything.
    tool: call.tool?.id ?? shown(call.toolId),
    actor: shown(call.actor.id),
    outcome,
    stage,
    ...(via !== "" && { via }),
    ms: Math.round(call.durationMs * 1_000) / 1_000,
    ...(!call.ok && { message: shown(call.error.message, redactor(sent())) }),
  };

  /** What is in the catalog is no secret: the gateway's own tools are called with the names of others. */
  function sent(): readonly string[] {
    const texts = textsIn(call.args);
    if (!call.tool?.builtin) return texts;
    const server = texts.find((text) => catalog.server(text));
    const names = new Set(server === undefined ? [] : catalog.tools(server).map(({ name }) => name));
    return texts.filter((text) => text !== server && !names.has(text));
  }
}

/** Whoever calls knows what it sent; whoever reads the log need not: a server may repeat any of it. */
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

function causesOf(error: GatewayError): string[] {
  const causes: string[] = [];
  let next: unknown = error.cause;
  for (let depth = 0; depth < 5 && next instanceof Error; depth++) {
    causes.push(GatewayError.is(next) ? `${next.code}: ${next.message}` : `${next.name}: ${next.message}`);
    next = next.cause;
  }
  return causes;
}

function toStderr(line: string): void {
  process.stderr.write(`${line}\n`);
}
