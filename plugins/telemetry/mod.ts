import type { Context, Span } from "@opentelemetry/api";
import * as v from "valibot";
import { type Call, definePlugin, GatewayError, type SettledCall, version } from "../../core/mod.ts";
import type { TraceContext } from "../../core/services/telemetry.ts";
import { option } from "../lib/options.ts";
import { getCallLabels, parseTraceContext } from "../lib/telemetry.ts";

/** The used part of the OpenTelemetry API. Not exported: the compiler of a user may not find it. */
type OpenTelemetryApi = Pick<
  typeof import("@opentelemetry/api"),
  "trace" | "context" | "propagation" | "metrics" | "SpanKind" | "SpanStatusCode" | "ROOT_CONTEXT"
>;

const options = v.strictObject({
  baggage: option(
    v.boolean(),
    "Whether the baggage of requests is passed on to servers. It may tell one server about another.",
    true,
  ),
  api: option(
    v.custom<() => Promise<unknown>>((value) => typeof value === "function", "a function"),
    "Loads the OpenTelemetry API, in place of the installed one. Resolves to undefined if there is none.",
    () => loadInstalledApi,
  ),
});

/** Options of {@link telemetry}. */
export type TelemetryOptions = v.InferInput<typeof options>;

const TOOLS_CALL = "tools/call";

/**
 * Reports every call to OpenTelemetry through its API: the host chooses the SDK that collects it, and its destination.
 * Trace context arrives in `_meta` and is passed on to servers, even if the API is not installed.
 */
export const telemetry = definePlugin({
  name: "telemetry",
  uses: [],
  provides: ["telemetry"],
  // First, so that the span includes the work of other plugins.
  order: "pre",
  options,
  async setup(gateway, { baggage, api: load }) {
    const filterBaggage = ({ baggage: own, ...rest }: TraceContext): TraceContext =>
      baggage && own !== undefined ? { ...rest, baggage: own } : rest;
    const api = (await load()) as OpenTelemetryApi | undefined;
    if (!api) {
      gateway.provide("telemetry", { getContext: ({ meta }) => filterBaggage(parseTraceContext(meta)) });
      return;
    }
    const { context, propagation, trace, SpanKind, SpanStatusCode } = api;
    const tracer = trace.getTracer("toolpipe", version);
    const meter = api.metrics.getMeter("toolpipe", version);
    const seconds = meter.createHistogram("mcp.server.operation.duration", {
      unit: "s",
      description: "Duration of calls.",
    });
    const active = meter.createUpDownCounter("toolpipe.calls.active", { description: "Calls that run." });
    const traced = new Map<string, { readonly span: Span; readonly context: Context }>();

    gateway.provide("telemetry", {
      getContext(call) {
        const own = traced.get(call.id);
        const carrier: Record<string, string> = {};
        if (own) propagation.inject(own.context, carrier);
        const injected = parseTraceContext(carrier);
        // Without an SDK nothing is injected, and the incoming context is passed on.
        return filterBaggage(injected.traceparent === undefined ? parseTraceContext(call.meta) : injected);
      },
    });
    return {
      resolve(call) {
        const above = call.parent && traced.get(call.parent.id);
        const from = above?.context ?? extractContext(call);
        const method = getMethod(call);
        const span = tracer.startSpan(
          method,
          {
            kind: call.parent ? SpanKind.INTERNAL : SpanKind.SERVER,
            startTime: call.startedAt,
            attributes: {
              "mcp.method.name": method,
              ...(method === TOOLS_CALL && { "gen_ai.operation.name": "execute_tool" }),
            },
          },
          from,
        );
        traced.set(call.id, { span, context: trace.setSpan(from, span) });
        active.add(1);
      },
      execute(call, next) {
        const own = traced.get(call.id);
        return own ? context.with(own.context, next) : next();
      },
      audit(call) {
        const own = traced.get(call.id);
        if (!own) return;
        traced.delete(call.id);
        active.add(-1);
        endSpan(call, own.span);
        const { server, outcome } = getCallLabels(call);
        const attributes = { "mcp.method.name": getMethod(call), "toolpipe.server": server };
        seconds.record(
          call.durationMs / 1_000,
          outcome === "ok" ? attributes : { ...attributes, "error.type": outcome },
        );
      },
    };

    function extractContext(call: Call): Context {
      return propagation.extract(api?.ROOT_CONTEXT ?? context.active(), parseTraceContext(call.meta));
    }

    /** Records names and codes only: no arguments, results or error messages. */
    function endSpan(call: SettledCall, span: Span): void {
      const { server, outcome, stage, via } = getCallLabels(call);
      if (call.tool) {
        const { id, server: target, request } = call.tool;
        span.updateName(request ? `${request} ${target}` : `${TOOLS_CALL} ${id}`);
        if (!request) span.setAttribute("gen_ai.tool.name", call.tool.name);
        span.setAttribute("toolpipe.server", server);
      }
      span.setAttribute("toolpipe.call.id", call.id);
      span.setAttribute("toolpipe.stage", stage);
      if (via !== "") span.setAttribute("toolpipe.via", via);
      if (outcome !== "ok") {
        span.setAttribute("error.type", outcome);
        span.setStatus({ code: SpanStatusCode.ERROR, message: outcome });
      }
      span.end(call.startedAt + call.durationMs);
    }
  },
});

/** Returns the MCP method of a call: a tool call, or another request to its server. */
function getMethod({ tool }: Pick<Call, "tool">): string {
  return tool?.request ?? TOOLS_CALL;
}

/** Loads the API that is installed beside this package, if there is one. */
async function loadInstalledApi(): Promise<OpenTelemetryApi | undefined> {
  try {
    return await import("@opentelemetry/api");
  } catch (cause) {
    const code = (cause as { code?: unknown }).code;
    if (code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND") return undefined;
    throw new GatewayError("PLUGIN_FAILED", "The OpenTelemetry API is installed, but cannot be loaded.", {
      cause,
    });
  }
}
