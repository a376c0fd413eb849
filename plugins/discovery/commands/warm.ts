import type { Gateway } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { troubleOf } from "../../lib/servers.ts";
import { untilInterrupted } from "../../lib/terminal/interrupt.ts";
import { coloured, counted, output, progressBar, shownLine } from "../../lib/terminal/output.ts";
import { checkServer, isHeld, noServers } from "../../lib/terminal/servers.ts";
import { connectableServers } from "../gateway-discovery.ts";
import { type ServerProgress, serverDiscovery, type WarmStatistics } from "../mod.ts";
import { failureJson, findDiscovery } from "./report.ts";

/** A server could not be asked. */
const FAILED = 3;

/** Discovers servers ahead of time, so that their tools are cached. */
export const warm: Command = defineCommand({
  many: true,
  args: {
    server: { type: "positional", required: false, description: "Only these servers" },
    fresh: { type: "boolean", description: "Ask those that are remembered, too" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  run: ({ _: names, ...given }, context) =>
    untilInterrupted((signal) =>
      context.open(
        given,
        async (gateway) => {
          const servers = meant(gateway, names);
          const bar = progressBar();
          const lines: string[] = [];
          bar.show(0, servers.length, "");
          const statistics = await findDiscovery(gateway)
            .warmCacheForServers(servers, {
              refreshCache: given.fresh === true,
              signal,
              onServer(progress) {
                bar.show(progress.done, progress.total, progress.config.name);
                if (given.json) return;
                // On a terminal the bar stands where they would be written.
                if (process.stderr.isTTY) lines.push(formatProgress(progress));
                else process.stdout.write(coloured(`${formatProgress(progress)}\n`));
              },
            })
            .finally(() => bar.clear());
          output(given.json, toJson(statistics), () =>
            servers.length === 0 ? noServers(gateway) : `${[...lines, summary(statistics)].join("\n")}\n`,
          );
          return statistics.failed === 0 ? 0 : FAILED;
        },
        { with: [serverDiscovery(), "types"] },
      ),
    ),
});

function meant(gateway: Gateway, names: readonly string[]): readonly ServerConfig[] {
  for (const name of names) {
    checkServer(gateway, name);
    const status = gateway.services.servers?.status(name);
    if (status && isHeld(status)) throw troubleOf(gateway, name) ?? new Error(status.reason);
  }
  const all = connectableServers(gateway);
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

function formatProgress({ config, tools = 0, fromCache, error }: ServerProgress): string {
  const name = shownLine(config.name);
  if (error) return `✗ ${name}: ${shownLine(error.message)}`;
  return `✓ ${name}: ${counted(tools, "tool")}${fromCache ? ", remembered already" : ""}`;
}

function summary({ successful, failed, cachedTools, durationMs }: WarmStatistics): string {
  const seconds = (durationMs / 1_000).toFixed(1);
  return `Warmed: ${successful} successful, ${failed} failed, ${cachedTools} tools cached in ${seconds} s`;
}

function toJson({ failures, ...statistics }: WarmStatistics): object {
  return { ...statistics, failures: failures.map(failureJson) };
}
