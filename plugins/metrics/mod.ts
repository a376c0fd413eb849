import process from "node:process";
import * as v from "valibot";
import { definePlugin, type Gateway, type PluginFactory, version } from "../../core/mod.ts";
import { getCallLabels } from "../lib/call-labels.ts";
import { createTokenMeter, type TokenSaving } from "../lib/tokens.ts";
import { createFamilies, type Families } from "./families.ts";

export { type CallLabels, getCallLabels } from "../lib/call-labels.ts";
export { createTokenMeter, type TokenSaving } from "../lib/tokens.ts";

/** Options of {@link metrics}. */
export interface MetricsOptions {
  /** Series per family; further ones are counted as `other`. 2,000 by default. */
  readonly maxSeries?: number;
  /** Whether `/metrics` needs no authentication; false by default. */
  readonly open?: boolean;
}

const options = v.strictObject({
  maxSeries: v.optional(v.pipe(v.number(), v.integer(), v.minValue(10, "a whole number, 10 or more")), 2_000),
  open: v.optional(v.boolean(), false),
});

const FORMAT = "text/plain; version=0.0.4; charset=utf-8";
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Serves Prometheus metrics at `/metrics`: calls by outcome and duration, tokens that tool definitions cost an agent,
 * and the gauges that other plugins register.
 */
export const metrics: PluginFactory<"metrics", MetricsOptions, Required<MetricsOptions>> = definePlugin({
  name: "metrics",
  uses: ["servers?", "exposure?"],
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
    /** Outermost calls; inner calls are part of them. */
    const underway = new Set<string>();
    const tokens = createTokenMeter(gateway);
    let saving: TokenSaving = { all: 0, shown: 0, saved: 0 };
    addGauges(families, gateway, { inFlight: () => underway.size, saving: () => saving });

    const gauges = gateway.drivers("gauge");
    const added = new Set<string>();
    const collect = async (): Promise<string> => {
      saving = await tokens();
      for (const [name, { help, type = name.endsWith("_total") ? "counter" : "gauge", read }] of gauges) {
        if (!added.has(name)) families.gauge({ name, help, type, read });
        added.add(name);
      }
      return families.text();
    };
    gateway.register("route", "/metrics", {
      open,
      async handle(_request, response) {
        const text = await collect();
        response.writeHead(200, { "content-type": FORMAT, "cache-control": "no-store" }).end(text);
      },
    });
    return {
      resolve(call) {
        if (!call.parent) underway.add(call.id);
      },
      audit(call) {
        underway.delete(call.id);
        const { server, outcome, stage, via } = getCallLabels(call);
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

function addGauges(families: Families, gateway: Gateway, { inFlight, saving }: Sources): void {
  const { catalog } = gateway;
  const gauge = (name: string, help: string, read: () => number | undefined): void => {
    families.gauge({
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
  families.gauge({
    name: "toolpipe_servers",
    help: "Servers by how they stand.",
    type: "gauge",
    read: () => [...serverCounts(gateway)].map(([status, value]) => ({ labels: { status }, value })),
  });
  gauge("toolpipe_tokens_all", "What the definitions of all tools would cost an agent.", () => saving().all);
  gauge("toolpipe_tokens_shown", "What the definitions cost that an agent sees.", () => saving().shown);
  gauge("toolpipe_tokens_saved", "What is saved by showing those in place of all.", () => saving().saved);
  families.gauge({
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
  for (const { status } of services.servers?.statuses() ?? []) {
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}
