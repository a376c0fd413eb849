import { GatewayError } from "../../core/mod.ts";
import type { ServerConfig } from "../sources/server-config.ts";
import type { DiscoveredServer, DiscoveryFailure, DiscoveryOutcome } from "./discovered.ts";
import type { DiscoverySettings } from "./options.ts";

/** Asks several servers, a few at a time. One that cannot be asked costs the others nothing. */
export async function discoverMany(
  configs: readonly ServerConfig[],
  settings: DiscoverySettings,
  discover: (config: ServerConfig) => Promise<DiscoveredServer>,
): Promise<DiscoveryOutcome> {
  const total = configs.length;
  let done = 0;
  const one = async (config: ServerConfig): Promise<DiscoveredServer | DiscoveryFailure> => {
    const result = await discover(config).catch((thrown: unknown) => {
      const message = `The server "${config.name}" could not be asked for its tools.`;
      return { server: config.name, config, error: GatewayError.from(thrown, message) };
    });
    const told =
      "error" in result
        ? { error: result.error }
        : { tools: result.tools.length, fromCache: result.fromCache };
    settings.onServer?.({ config, done: ++done, total, ...told });
    return result;
  };
  const { default: Queue } = await import("p-queue");
  const queue = new Queue({ concurrency: settings.maxParallelDiscoveries });
  const all = await queue.addAll(configs.map((config) => () => one(config)));
  return {
    servers: all.filter((each) => "tools" in each),
    failures: all.filter((each) => "error" in each),
  };
}
