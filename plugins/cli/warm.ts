import type { CommandDef } from "citty";
import type { Gateway } from "../../core/mod.ts";
import { connectable, type ServerProgress, type WarmStatistics } from "../discovery/mod.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { discoveryOf, failureJson, keepListings, withDiscovery } from "./_discovering.ts";
import { configArgs } from "./_gateway.ts";
import { untilInterrupted } from "./_interrupt.ts";
import { coloured, output } from "./_output.ts";
import { progressBar } from "./_progress.ts";
import { checkServer, isHeld, noServers, troubleOf } from "./_servers.ts";
import { counted, shownLine } from "./_shown.ts";

/** A server could not be asked. */
const FAILED = 3;

/** Asks servers for their tools before anybody needs them. */
export const warm: CommandDef = command({
  name: "warm",
  description:
    "Ask all servers, or those named, for their tools ahead of time, so that they are remembered; exit code 3 if one fails",
  many: true,
  args: {
    server: { type: "positional", required: false, description: "Only these servers" },
    fresh: { type: "boolean", description: "Ask those that are remembered, too" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  run: ({ _: names, ...given }) =>
    untilInterrupted((signal) =>
      withCatalog(
        given,
        async (gateway) => {
          const servers = meant(gateway, names);
          const keeping = await keepListings(gateway);
          const bar = progressBar();
          const lines: string[] = [];
          bar.show(0, servers.length, "");
          const statistics = await discoveryOf(gateway)
            .warmCacheForServers(servers, {
              refreshCache: given.fresh === true,
              signal,
              onListing: keeping.onListing,
              onServer(progress) {
                bar.show(progress.done, progress.total, progress.config.name);
                if (given.json) return;
                // On a terminal the bar stands where they would be written.
                if (process.stderr.isTTY) lines.push(lineOf(progress));
                else process.stdout.write(coloured(`${lineOf(progress)}\n`));
              },
            })
            .finally(() => bar.clear());
          await keeping.save();
          output(given.json, toJson(statistics), () =>
            servers.length === 0 ? noServers(gateway) : `${[...lines, summary(statistics)].join("\n")}\n`,
          );
          return statistics.failed === 0 ? 0 : FAILED;
        },
        withDiscovery,
      ),
    ),
});

function meant(gateway: Gateway, names: readonly string[]): readonly ServerConfig[] {
  for (const name of names) {
    checkServer(gateway, name);
    const status = gateway.services.upstreams?.status(name);
    if (status && isHeld(status)) throw troubleOf(gateway, name) ?? new Error(status.reason);
  }
  const all = connectable(gateway);
  return names.length === 0 ? all : all.filter(({ name }) => names.includes(name));
}

function lineOf({ config, tools = 0, fromCache, error }: ServerProgress): string {
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
