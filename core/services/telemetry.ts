import type { Call } from "../call.ts";

/** The position of a request in a trace, as W3C Trace Context and Baggage write it; the same in headers and in `_meta`. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** Passes trace context on to servers. Provided by the plugin `telemetry`. */
export interface Telemetry {
  /** The context for the requests that a call makes. */
  getContext(call: Call): TraceContext;
}
