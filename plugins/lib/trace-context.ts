import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { TraceContext } from "../../core/services/telemetry.ts";

/** The names that trace context has in headers and in `_meta`. */
export const traceFields = ["traceparent", "tracestate", "baggage"] as const;

const PARENT =
  /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-[\x21-\x7e]{1,200})?$/;
const PRINTABLE = /^[\x20-\x7e]+$/;
const longest = { traceparent: 300, tracestate: 512, baggage: 8_192 } as const;

/** The trace context among headers or `_meta`. Strangers write it: what is not well formed is left out, and goes nowhere. */
export function traceContextIn(fields: Readonly<Record<string, unknown>>): TraceContext {
  const found: { -readonly [Name in keyof TraceContext]: TraceContext[Name] } = {};
  for (const name of traceFields) {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (typeof value !== "string" || value.length > longest[name] || !PRINTABLE.test(value)) continue;
    if (name === "traceparent" && !PARENT.test(value)) continue;
    found[name] = value;
  }
  // What a trace is in says nothing of another one.
  if (found.traceparent === undefined) delete found.tracestate;
  return found;
}

/** A message with the trace context of the headers that it came with, where it has none of its own in its `_meta`. */
export function withTraceHeaders<Message extends { readonly params?: unknown }>(
  message: Message,
  headers: Readonly<Record<string, unknown>>,
): Message {
  if (headers["traceparent"] === undefined && headers["baggage"] === undefined) return message;
  const params = isJsonObject(message.params) ? message.params : {};
  const meta = isJsonObject(params["_meta"]) ? params["_meta"] : {};
  const found = traceContextIn(headers);
  if (Object.keys(found).length === 0 || traceFields.some((name) => Object.hasOwn(meta, name)))
    return message;
  return { ...message, params: { ...params, _meta: { ...meta, ...found } } };
}

/** `_meta` as it is sent on: with this trace context in place of any other. */
export function metaWithContext(
  meta: Readonly<JsonObject>,
  context: TraceContext | undefined,
): Readonly<JsonObject> {
  if (!context) return meta;
  const rest = Object.entries(meta).filter(([name]) => !traceFields.includes(name as keyof TraceContext));
  return { ...Object.fromEntries(rest), ...context };
}
