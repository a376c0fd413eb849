import type { Gateway } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import type { ServerConfig } from "../../../core/services/sources.ts";
import { checkServer, explainNoServers, findServerError, isHeld } from "../../lib/servers.ts";
import {
  colorMarks,
  createProgressBar,
  formatCount,
  output,
  toTerminalLine,
} from "../../lib/terminal/output.ts";
import { untilInterrupted } from "../../lib/terminal/process.ts";
import { connectableServers } from "../gateway-discovery.ts";
import { type ServerProgress, serverDiscovery, type WarmStatistics } from "../mod.ts";
import { failureJson, findDiscovery } from "./report.ts";

/** Exit code if a server could not be asked. */
const FAILED = 3;

/** Discovers servers ahead of time, so that their tools are cached. */
export const warm: Command = defineCommand({
  many: true,
  args: {
    server: { type: "positional", required: false, description: "Only these servers" },
    fresh: { type: "boolean", description: "Ask also servers whose tools are cached" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  run: ({ _: names, ...given }, context) =>
    untilInterrupted((signal) =>
      context.open(
        given,
        async (gateway) => {
          const servers = chooseServers(gateway, names);
          const bar = createProgressBar();
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
                else process.stdout.write(colorMarks(`${formatProgress(progress)}\n`));
              },
            })
            .finally(() => bar.clear());
          output(given.json, toJson(statistics), () =>
            servers.length === 0
              ? explainNoServers(gateway)
              : `${[...lines, summary(statistics)].join("\n")}\n`,
          );
          return statistics.failed === 0 ? 0 : FAILED;
        },
        { with: [serverDiscovery(), "types"] },
      ),
    ),
});

function chooseServers(gateway: Gateway, names: readonly string[]): readonly ServerConfig[] {
  for (const name of names) {
    checkServer(gateway, name);
    const status = gateway.services.servers?.status(name);
    if (status && isHeld(status)) throw findServerError(gateway, name) ?? new Error(status.reason);
  }
  const all = connectableServers(gateway);
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

function formatProgress({ config, tools = 0, fromCache, error }: ServerProgress): string {
  const name = toTerminalLine(config.name);
  if (error) return `✗ ${name}: ${toTerminalLine(error.message)}`;
  return `✓ ${name}: ${formatCount(tools, "tool")}${fromCache ? ", cached already" : ""}`;
}

function summary({ successful, failed, cachedTools, durationMs }: WarmStatistics): string {
  const seconds = (durationMs / 1_000).toFixed(1);
  return `Warmed: ${successful} successful, ${failed} failed, ${cachedTools} tools cached in ${seconds} s`;
}

function toJson({ failures, ...statistics }: WarmStatistics): object {
  return { ...statistics, failures: failures.map(failureJson) };
}
