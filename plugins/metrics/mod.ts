import process from "node:process";
import * as v from "valibot";
import { definePlugin, type Gateway, version } from "../../core/mod.ts";
import { option, wholeNumber } from "../lib/options.ts";
import { getCallLabels } from "../lib/telemetry.ts";
import { createTokenMeter, type TokenSaving } from "../lib/tokens.ts";
import { createFamilies, type Families } from "./families.ts";

const options = v.strictObject({
  maxSeries: option(wholeNumber(10), "Series per metric family; further ones are counted as `other`.", 2_000),
  open: option(v.boolean(), "Whether `/metrics` can be read without authentication.", false),
});

/** Options of {@link metrics}. */
export type MetricsOptions = v.InferInput<typeof options>;

const FORMAT = "text/plain; version=0.0.4; charset=utf-8";
const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];

/**
 * Serves Prometheus metrics at `/metrics`: calls by outcome and duration, tokens that tool definitions cost an agent,
 * and the gauges that other plugins register.
 */
export const metrics = definePlugin({
  name: "metrics",
  uses: ["servers?", "exposure?"],
  // First, so that it sees every call begin.
  order: "pre",
  options,
  setup(gateway, { maxSeries, open }) {
    const families = createFamilies(maxSeries);
    const calls = families.counter({
      name: "toolpipe_calls_total",
      help: "Calls that have ended, by server, outcome, last stage, and the plugin that answered in place of the tool.",
      labels: ["server", "outcome", "stage", "via"],
    });
    const seconds = families.histogram({
      name: "toolpipe_call_duration_seconds",
      help: "Duration of calls, from their arrival to their end.",
      labels: ["server"],
      buckets: SECONDS,
    });
    const errors = families.counter({
      name: "toolpipe_errors_total",
      help: "Failures outside of calls, by code.",
      labels: ["code"],
    });
    /** Outermost calls; inner calls are part of them. */
    const pending = new Set<string>();
    const tokens = createTokenMeter(gateway);
    let saving: TokenSaving = { all: 0, shown: 0, saved: 0 };
    addGauges(families, gateway, { inFlight: () => pending.size, saving: () => saving });

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
        if (!call.parent) pending.add(call.id);
      },
      audit(call) {
        pending.delete(call.id);
        const { server, outcome, stage, via } = getCallLabels(call);
        calls.add([server, outcome, stage, via]);
        seconds.observe([server], call.durationMs / 1_000);
      },
      error: ({ code }) => errors.add([code]),
    };
  },
});

function addGauges(
  families: Families,
  gateway: Gateway,
  { inFlight, saving }: { readonly inFlight: () => number; readonly saving: () => TokenSaving },
): void {
  const gauge = (name: string, help: string, read: () => number): void =>
    families.gauge({
      name,
      help,
      type: name.endsWith("_total") ? "counter" : "gauge",
      read: () => [{ value: read() }],
    });
  gauge("toolpipe_calls_in_flight", "Calls of clients that run.", inFlight);
  gauge("toolpipe_tools", "Tools of all servers.", () => gateway.catalog.tools().length);
  families.gauge({
    name: "toolpipe_servers",
    help: "Servers by status.",
    type: "gauge",
    read: () => [...countServers(gateway)].map(([status, value]) => ({ labels: { status }, value })),
  });
  gauge("toolpipe_tokens_all", "Tokens of the definitions of all tools.", () => saving().all);
  gauge("toolpipe_tokens_shown", "Tokens of the definitions that an agent sees.", () => saving().shown);
  gauge("toolpipe_tokens_saved", "Tokens that an agent saves.", () => saving().saved);
  families.gauge({
    name: "toolpipe_build_info",
    help: "Version of toolpipe.",
    type: "gauge",
    read: () => [{ labels: { version }, value: 1 }],
  });
  gauge("process_resident_memory_bytes", "Memory of this process.", () => process.memoryUsage().rss);
  gauge("process_start_time_seconds", "Start time of this process.", () => performance.timeOrigin / 1_000);
  gauge("process_cpu_seconds_total", "Processor time of this process.", () => {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1e6;
  });
}

function countServers({ services }: Gateway): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { status } of services.servers?.statuses() ?? []) {
    counts.set(status, (counts.get(status) ?? 0) + 1);
  }
  return counts;
}
