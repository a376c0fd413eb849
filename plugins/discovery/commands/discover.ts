import type { Gateway } from "../../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../../core/services/command.ts";
import { createProgressBar, output, usageError } from "../../lib/terminal/output.ts";
import { untilInterrupted } from "../../lib/terminal/process.ts";
import { type CapabilitySearch, type DiscoveryOptions, serverDiscovery } from "../mod.ts";
import { candidates, describeSearch, findDiscovery, searchJson } from "./report.ts";

/** Exit code if no server has the capability. */
const NOTHING_FOUND = 2;

/** Finds the servers that have a capability: the user's own first, then those of a registry. */
export const discover: Command = defineCommand({
  args: {
    query: { type: "positional", required: true, description: "What is to be done" },
    elsewhere: { type: "boolean", description: "Search the registries, whatever your own servers can do" },
    all: { type: "boolean", description: "Take all matches of the registries, and not only the best 20" },
    fresh: { type: "boolean", description: "Ask servers again, and use no cached tools" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  run({ query, ...given }, context) {
    if (query.trim() === "") throw usageError("The query is empty.");
    return untilInterrupted((signal) =>
      context.open(
        given,
        async (gateway) => {
          const bar = createProgressBar();
          const options: DiscoveryOptions = {
            useCache: true,
            refreshCache: given.fresh === true,
            allMatches: given.all === true,
            signal,
            onServer: ({ done, total, config }) => bar.show(done, total, config.name),
          };
          const found = await search(gateway, query, given.elsewhere === true, options).finally(() =>
            bar.clear(),
          );
          output(given.json, searchJson(found), () => describeSearch(query, found));
          return found.servers.length > 0 || candidates(found).length > 0 ? 0 : NOTHING_FOUND;
        },
        { with: [serverDiscovery(), "types", "search", "registries"] },
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
  const service = findDiscovery(gateway);
  if (!registryOnly) return service.findServersForCapability(query, options);
  return { from: "registry", ...(await service.discoverFromRegistry(query, options)) };
}
