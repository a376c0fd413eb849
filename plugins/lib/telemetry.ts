import { isJsonObject, type JsonObject, type SettledCall } from "../../core/mod.ts";
import type { TraceContext } from "../../core/services/telemetry.ts";

const traceFields = ["traceparent", "tracestate", "baggage"] as const;

const PARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{1,200})?$/;
const PRINTABLE = /^[\x20-\x7e]+$/;
const longest = { traceparent: 300, tracestate: 512, baggage: 8_192 } as const;

/** Parses trace context from headers or `_meta`. It is untrusted: malformed fields are dropped. */
export function parseTraceContext(fields: Readonly<Record<string, unknown>>): TraceContext {
  const found: { -readonly [Name in keyof TraceContext]: TraceContext[Name] } = {};
  for (const name of traceFields) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof value !== "string" || value.length > longest[name] || !PRINTABLE.test(value)) continue;
    if (name === "traceparent" && !PARENT.test(value)) continue;
    found[name] = value;
  }
  // Without its trace the state has no meaning.
  if (found.traceparent === undefined) delete found.tracestate;
  return found;
}

/** Adds trace context from the headers of a message to its `_meta`, unless it has its own. */
export function addTraceHeaders<Message extends { readonly params?: unknown }>(
  message: Message,
  headers: Readonly<Record<string, unknown>>,
): Message {
  if (headers["traceparent"] === undefined && headers["baggage"] === undefined) return message;
  const params = isJsonObject(message.params) ? message.params : {};
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const found = parseTraceContext(headers);
  if (Object.keys(found).length === 0 || traceFields.some((name) => Object.hasOwn(meta, name)))
    return message;
  return { ...message, params: { ...params, _meta: { ...meta, ...found } } };
}

/** `_meta` as it is sent on: with this trace context in place of any other. */
export function replaceTraceContext(meta: Readonly<JsonObject>, context: TraceContext): Readonly<JsonObject> {
  const rest = Object.entries(meta).filter(([name]) => !traceFields.includes(name as keyof TraceContext));
  return { ...Object.fromEntries(rest), ...context };
}

/** Labels of a call for metrics, logs and traces. */
export interface CallLabels {
  readonly server: string;
  /** `ok`, `tool_error` if the tool reported a failure, or the code of the error. */
  readonly outcome: string;
  readonly stage: string;
  /** Plugin that answered in place of the tool; empty if the tool did. */
  readonly via: string;
}

/** Returns labels without any string of the caller: calls to unknown tools must not fill the memory with names. */
export function getCallLabels(call: SettledCall): CallLabels {
  return {
    server: call.tool?.server ?? "",
    outcome: call.ok ? (call.result.isError ? "tool_error" : "ok") : call.error.code,
    stage: call.stage,
    via: call.via ?? "",
  };
}
