import process from "node:process";
import * as v from "valibot";
import { definePlugin, type Gateway, type PluginFactory, version } from "../../core/mod.ts";
import type {} from "../overload.ts";
import { offerRoute } from "../serve/routes.ts";
import type {} from "../upstreams/mod.ts";
import { labelsOf } from "./call-labels.ts";
import { createFamilies, type Families } from "./families.ts";
import { type TokenSaving, tokenMeter } from "./tokens.ts";

export { type CallLabels, labelsOf } from "./call-labels.ts";
export { type TokenSaving, tokenMeter } from "./tokens.ts";

/** The options of {@link metrics}. */
export interface MetricsOptions {
  /** How many figures each family keeps; what is new after that is counted as `other`. 2,000 by default. */
  readonly maxSeries?: number;
  /** Whether anybody may read `/metrics`, without a token where one is needed for the rest; false by default. */
  readonly open?: boolean;
}

/** What the plugin `metrics` offers. */
export interface Metrics {
  /** Everything as Prometheus reads it (text format 0.0.4). */
  text(): Promise<string>;
  /** The calls of clients that are under way. */
  readonly inFlight: number;
}

declare module "../../core/gateway.ts" {
  interface Services {
    /** Offered by the plugin `metrics`. */
    metrics?: Metrics;
  }
}

const options = v.strictObject({
  maxSeries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(10, "a whole number, 10 or more")), 2_000),
  open: v.optional(v.boolean(), false),
});

const FORMAT = "text/plain; version=0.0.4; charset=utf-8";
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Counts calls: how many, how they ended, how long they took; and what the tools would cost an agent. Served at
 * `/metrics` for Prometheus.
 */
export const metrics: PluginFactory<"metrics", MetricsOptions, Required<MetricsOptions>> = definePlugin({
  name: "metrics",
  // First, so that it sees every call begin.
  order: "pre",
  options: options as v.GenericSchema<MetricsOptions, Required<MetricsOptions>>,
  setup(gateway, { maxSeries, open }) {
    const families = createFamilies(maxSeries);
    const calls = families.counter({
      name: "toolpipe_calls_total",
      help: "Calls that are over, by the server of their tool, how they ended, in which stage, and who answered in its place.",
      labels: ["server", "outcome", "stage", "via"],
    });
    const seconds = families.histogram({
      name: "toolpipe_call_duration_seconds",
      help: "How long calls took, from their arrival to their end.",
      labels: ["server"],
      buckets: SECONDS,
    });
    const errors = families.counter({
      name: "toolpipe_errors_total",
      help: "Failures outside any call, by their code.",
      labels: ["code"],
    });
    /** The outermost calls: one that is made for another is part of it. */
    const underway = new Set<string>();
    const tokens = tokenMeter(gateway);
    let saving: TokenSaving = { all: 0, shown: 0, saved: 0 };
    addReadings(families, gateway, { inFlight: () => underway.size, saving: () => saving });

    const own: Metrics = {
      get inFlight() {
        return underway.size;
      },
      async text() {
        saving = await tokens();
        return families.text();
      },
    };
    gateway.services.metrics = own;
    offerRoute(gateway, "/metrics", {
      open,
      async handle(_request, response) {
        const text = await own.text();
        response.writeHead(200, { "content-type": FORMAT, "cache-control": "no-store" }).end(text);
      },
    });
    return {
      resolve(call) {
        if (!call.parent) underway.add(call.id);
      },
      audit(call) {
        underway.delete(call.id);
        const { server, outcome, stage, via } = labelsOf(call);
        calls.add([server, outcome, stage, via]);
        seconds.observe([server], call.durationMs / 1_000);
      },
      error: ({ code }) => errors.add([code]),
    };
  },
});

interface Sources {
  readonly inFlight: () => number;
  readonly saving: () => TokenSaving;
}

function addReadings(families: Families, gateway: Gateway, { inFlight, saving }: Sources): void {
  const { services, catalog } = gateway;
  const gauge = (name: string, help: string, read: () => number | undefined): void => {
    families.reading({
      name,
      help,
      type: name.endsWith("_total") ? "counter" : "gauge",
      read() {
        const value = read();
        return value === undefined ? [] : [{ value }];
      },
    });
  };
  gauge("toolpipe_calls_in_flight", "Calls of clients that are under way.", inFlight);
  gauge("toolpipe_tools", "Tools of all servers.", () => catalog.tools().length);
  families.reading({
    name: "toolpipe_servers",
    help: "Servers by how they stand.",
    type: "gauge",
    read: () => [...serverCounts(gateway)].map(([status, value]) => ({ labels: { status }, value })),
  });
  gauge("toolpipe_tokens_all", "What the definitions of all tools would cost an agent.", () => saving().all);
  gauge("toolpipe_tokens_shown", "What the definitions cost that an agent sees.", () => saving().shown);
  gauge("toolpipe_tokens_saved", "What is saved by showing those in place of all.", () => saving().saved);
  gauge("toolpipe_load_running", "Calls that are being made.", () => services.load?.().running);
  gauge("toolpipe_load_waiting", "Calls that wait for their turn.", () => services.load?.().waiting);
  gauge("toolpipe_load_refused_total", "Calls that were too many.", () => services.load?.().refused);
  gauge("toolpipe_event_loop_lag_seconds", "By how much the process was late lately.", () => {
    const ms = services.load?.().lagMs;
    return ms === undefined ? undefined : ms / 1_000;
  });
  families.reading({
    name: "toolpipe_build_info",
    help: "The version that runs.",
    type: "gauge",
    read: () => [{ labels: { version }, value: 1 }],
  });
  gauge("process_resident_memory_bytes", "Memory of this process.", () => process.memoryUsage().rss);
  gauge(
    "process_start_time_seconds",
    "When this process began.",
    () => Date.now() / 1_000 - process.uptime(),
  );
  gauge("process_cpu_seconds_total", "Processor time of this process.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
}

function serverCounts({ services }: Gateway): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of services.upstreams?.statuses() ?? []) {
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}
