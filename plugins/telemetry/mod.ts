import type { Context, Span } from "@opentelemetry/api";
import * as v from "valibot";
import {
  type Call,
  definePlugin,
  GatewayError,
  type PluginFactory,
  type SettledCall,
  version,
} from "../../core/mod.ts";
import type {} from "../../core/services/servers.ts";
import type { TraceContext } from "../../core/services/telemetry.ts";
import { getCallLabels } from "../lib/call-labels.ts";
import { traceContextIn } from "../lib/trace-context.ts";

export type { Telemetry, TraceContext } from "../../core/services/telemetry.ts";
export {
  metaWithContext,
  traceContextIn,
  withTraceHeaders,
} from "../lib/trace-context.ts";

/** What of the OpenTelemetry API is used. Not shown to others: their compilers may not find it. */
type OpenTelemetryApi = Pick<
  typeof import("@opentelemetry/api"),
  "trace" | "context" | "propagation" | "metrics" | "SpanKind" | "SpanStatusCode" | "ROOT_CONTEXT"
>;

/** The options of {@link telemetry}. */
export interface TelemetryOptions {
  /** Whether the baggage of requests is passed on to servers; true by default. It may tell them of each other. */
  readonly baggage?: boolean;
  /** The OpenTelemetry API, where it is not the one that is installed; nothing means that there is none. */
  readonly api?: () => Promise<unknown>;
}

type Settings = Required<TelemetryOptions>;

const options = v.strictObject({
  baggage: v.optional(v.boolean(), true),
  api: v.optional(
    v.custom<Settings["api"]>((value) => typeof value === "function", "a function"),
    () => installedApi,
  ),
});

const TOOLS_CALL = "tools/call";

interface Traced {
  readonly span: Span;
  readonly context: Context;
}

/**
 * Tells OpenTelemetry of every call, by its API alone: which SDK collects it, and where it goes, is the host's choice.
 * Trace context comes in `_meta` and goes on to servers; also where the API is not installed, and then at no other cost.
 */
export const telemetry: PluginFactory<"telemetry", TelemetryOptions, Settings> = definePlugin({
  name: "telemetry",
  uses: [],
  provides: ["telemetry"],
  // First, so that what other plugins do is part of the span.
  order: "pre",
  options: options as v.GenericSchema<TelemetryOptions, Settings>,
  async setup(gateway, { baggage, api: load }) {
    const passable = ({ baggage: own, ...rest }: TraceContext): TraceContext =>
      baggage && own !== undefined ? { ...rest, baggage: own } : rest;
    const api = (await load()) as OpenTelemetryApi | undefined;
    if (!api) {
      gateway.provide("telemetry", { getContext: ({ meta }) => passable(traceContextIn(meta)) });
      return;
    }
    const { context, propagation, trace, SpanKind, SpanStatusCode } = api;
    const tracer = trace.getTracer("toolpipe", version);
    const meter = api.metrics.getMeter("toolpipe", version);
    const seconds = meter.createHistogram("mcp.server.operation.duration", {
      unit: "s",
      description: "How long calls took.",
    });
    const active = meter.createUpDownCounter("toolpipe.calls.active", {
      description: "Calls that are under way.",
    });
    const traced = new Map<string, Traced>();

    gateway.provide("telemetry", {
      getContext(call) {
        const own = traced.get(call.id);
        const carrier: Record<string, string> = {};
        if (own) propagation.inject(own.context, carrier);
        const injected = traceContextIn(carrier);
        // Where no SDK is at work nothing is injected, and what came goes on.
        return passable(injected.traceparent === undefined ? traceContextIn(call.meta) : injected);
      },
    });
    return {
      resolve(call) {
        const above = call.parent && traced.get(call.parent.id);
        const from = above?.context ?? incoming(call);
        const method = methodOf(call);
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
        end(call, own.span);
        const { server, outcome } = getCallLabels(call);
        const attributes = { "mcp.method.name": methodOf(call), "toolpipe.server": server };
        seconds.record(
          call.durationMs / 1_000,
          outcome === "ok" ? attributes : { ...attributes, "error.type": outcome },
        );
      },
    };

    function incoming(call: Call): Context {
      return propagation.extract(api?.ROOT_CONTEXT ?? context.active(), traceContextIn(call.meta));
    }

    /** Names and codes only: neither arguments nor results, nor what an error says. */
    function end(call: SettledCall, span: Span): void {
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

/** What was asked for: a tool, or something else that its server has. */
function methodOf({ tool }: Pick<Call, "tool">): string {
  return tool?.request ?? TOOLS_CALL;
}

/** The API that is installed beside this package, if one is. */
async function installedApi(): Promise<OpenTelemetryApi | undefined> {
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
