import { AsyncLocalStorage } from "node:async_hooks";
import {
  type Attributes,
  type Context,
  type ContextManager,
  context,
  type Meter,
  metrics,
  propagation,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  type SpanStatus,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { onTestFinished } from "vitest";

/** A span that was ended. */
export interface Ended {
  readonly name: string;
  readonly kind: number | undefined;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentId: string | undefined;
  readonly attributes: Attributes;
  readonly status: SpanStatus | undefined;
}

/** The spans and measurements that an SDK received. */
export interface Recorded {
  readonly spans: readonly Ended[];
  readonly measurements: readonly {
    readonly name: string;
    readonly value: number;
    readonly attributes?: Attributes | undefined;
  }[];
}

/** As small an SDK as can stand behind the API, registered until the test is over. */
export function registerSdk(): Recorded {
  const spans: Ended[] = [];
  const measurements: Recorded["measurements"][number][] = [];
  const storage = new AsyncLocalStorage<Context>();
  const manager: ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (own, work, self, ...args) => storage.run(own, () => work.apply(self as never, args)),
    bind: (_own, target) => target,
    enable: () => manager,
    disable: () => manager,
  };
  let ids = 0;
  const id = (length: number): string => (++ids).toString(16).padStart(length, "0");
  const tracer = {
    startSpan(
      first: string,
      { kind, attributes = {} }: SpanOptions = {},
      from: Context = context.active(),
    ): Span {
      const above = trace.getSpanContext(from);
      const own: SpanContext = {
        traceId: above?.traceId ?? id(32),
        spanId: id(16),
        traceFlags: TraceFlags.SAMPLED,
        ...(above?.traceState && { traceState: above.traceState }),
      };
      let [name, status]: [string, SpanStatus | undefined] = [first, undefined];
      const all: Attributes = { ...attributes };
      const span = {
        spanContext: () => own,
        setAttribute(key: string, value: string) {
          all[key] = value;
          return span;
        },
        updateName(next: string) {
          name = next;
          return span;
        },
        setStatus(next: SpanStatus) {
          status = next;
          return span;
        },
        end: () =>
          void spans.push({
            name,
            kind,
            traceId: own.traceId,
            spanId: own.spanId,
            parentId: above?.spanId,
            attributes: all,
            status,
          }),
        isRecording: () => true,
      } as unknown as Span;
      return span;
    },
  };
  const note = (name: string) => (value: number, attributes?: Attributes) => {
    measurements.push({ name, value, attributes });
  };
  const meter = {
    createHistogram: (name: string) => ({ record: note(name) }),
    createUpDownCounter: (name: string) => ({ add: note(name) }),
  } as unknown as Meter;
  context.setGlobalContextManager(manager);
  trace.setGlobalTracerProvider({ getTracer: () => tracer as never });
  metrics.setGlobalMeterProvider({ getMeter: () => meter });
  propagation.setGlobalPropagator({
    fields: () => ["traceparent", "baggage"],
    inject(from, carrier, setter) {
      const own = trace.getSpanContext(from);
      if (own) setter.set(carrier, "traceparent", `00-${own.traceId}-${own.spanId}-0${own.traceFlags}`);
    },
    extract(from, carrier, getter) {
      const [, traceId, spanId] = String(getter.get(carrier, "traceparent") ?? "").split("-");
      if (!traceId || !spanId) return from;
      return trace.setSpanContext(from, { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true });
    },
  });
  onTestFinished(() => {
    for (const part of [context, trace, metrics, propagation]) part.disable();
  });
  return { spans, measurements };
}
