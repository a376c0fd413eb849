import type { Call } from "../call.ts";

/** Position of a request in a trace (W3C Trace Context and Baggage), as in headers and `_meta`. */
export interface TraceContext {
  readonly traceparent?: string;
  readonly tracestate?: string;
  readonly baggage?: string;
}

/** Passes trace context on to servers. Provided by the plugin `telemetry`. */
export interface Telemetry {
  /** Returns the context for the requests that a call makes. */
  getContext(call: Call): TraceContext;
}
