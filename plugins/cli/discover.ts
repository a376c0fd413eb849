import type { CommandDef } from "citty";
import type { Gateway } from "../../core/mod.ts";
import type { CapabilitySearch, DiscoveryOptions } from "../discovery/mod.ts";
import { withCatalog } from "./_catalog.ts";
import { command } from "./_command.ts";
import { candidates, describeSearch, searchJson } from "./_discover-report.ts";
import { discoveryOf, keepListings, withDiscovery } from "./_discovering.ts";
import { configArgs } from "./_gateway.ts";
import { untilInterrupted } from "./_interrupt.ts";
import { output } from "./_output.ts";
import { progressBar } from "./_progress.ts";
import { usageError } from "./_usage.ts";

/** No server has it. */
const NOTHING_FOUND = 2;

/** Finds the servers that have a capability: the person's own first, then those of a registry. */
export const discover: CommandDef = command({
  name: "discover",
  description: "Find servers that can do something: your own first, then those that a registry knows",
  args: {
    query: { type: "positional", required: true, description: "What is to be done" },
    elsewhere: { type: "boolean", description: "Search the registries, whatever your own servers can do" },
    fresh: { type: "boolean", description: "Ask servers anew, and use nothing that is remembered" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  run({ query, ...given }) {
    if (query.trim() === "") throw usageError("The query is empty.");
    return untilInterrupted((signal) =>
      withCatalog(
        given,
        async (gateway) => {
          const bar = progressBar();
          const keeping = await keepListings(gateway);
          const options: DiscoveryOptions = {
            useCache: true,
            refreshCache: given.fresh === true,
            signal,
            onListing: keeping.onListing,
            onServer: ({ done, total, config }) => bar.show(done, total, config.name),
          };
          const found = await search(gateway, query, given.elsewhere === true, options).finally(() =>
            bar.clear(),
          );
          await keeping.save();
          output(given.json, searchJson(found), () => describeSearch(query, found));
          return found.servers.length > 0 || candidates(found).length > 0 ? 0 : NOTHING_FOUND;
        },
        withDiscovery,
      ),
    );
  },
});

async function search(
  gateway: Gateway,
  query: string,
  registryOnly: boolean,
  options: DiscoveryOptions,
): Promise<CapabilitySearch> {
  const service = discoveryOf(gateway);
  if (!registryOnly) return service.findServersForCapability(query, options);
  return { from: "registry", ...(await service.discoverFromRegistry(query, options)) };
}
