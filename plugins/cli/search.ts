import type { Gateway } from "../../core/mod.ts";
import { type Command, configArgs, defineCommand } from "../../core/services/command.ts";
import { troubleOf } from "../lib/servers.ts";
import { output, shownLine, usageError } from "../lib/terminal/output.ts";
import {
  askServers,
  checkServer,
  noServers,
  serversOf,
  statusesOf,
  unknownServers,
} from "../lib/terminal/servers.ts";
import { summaryOf } from "../lib/text/shorten.ts";
import { type Ranking, search as searchPlugin } from "../search/mod.ts";
import { openGateway } from "./context.ts";

/** No tool fits. */
const NOTHING_FOUND = 2;

/** Searches the tools of all servers. */
export const search: Command = defineCommand({
  args: {
    query: { type: "positional", required: true, description: "What the tool should do" },
    server: { type: "string", description: "Only tools of this server", valueHint: "NAME" },
    limit: { type: "string", description: "At most so many", default: "10", valueHint: "N" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    const { query, server } = given;
    const limit = /^\d+$/.test(given.limit) ? Number(given.limit) : 0;
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw usageError("The option --limit needs a whole number, 1 or more.");
    if (query.trim() === "") throw usageError("The query is empty.");
    if (server === "") throw usageError("The option --server needs a value.");
    return openGateway(
      given,
      async (gateway) => {
        if (server !== undefined) checkServer(gateway, server);
        const ranking = await find(gateway, query, { server, limit });
        const found = ranking.hits.length > 0;
        const trouble = !found && server !== undefined && troubleOf(gateway, server);
        if (trouble) throw trouble;
        output(given.json, toJson(ranking), () => describe(query, ranking));
        if (!given.json) process.stderr.write(notSearched(gateway, server));
        return found ? 0 : NOTHING_FOUND;
      },
      { with: [searchPlugin()] },
    );
  },
});

/** What is known is found at once; a server that nobody knows is waited for only where nothing else would do. */
async function find(
  gateway: Gateway,
  query: string,
  options: { readonly server: string | undefined; readonly limit: number },
): Promise<Ranking> {
  const searchNow = async (): Promise<Ranking> =>
    (await gateway.services.search?.(query, options)) ?? { hits: [], nearest: [] };
  const unknown = unknownServers(gateway, options.server);
  const known = statusesOf(gateway).some(({ listedAt }) => listedAt !== undefined);
  if (known) {
    const ranking = await searchNow();
    if (ranking.hits.length > 0 || unknown.length === 0) return ranking;
  }
  await askServers(gateway, unknown);
  return searchNow();
}

function toJson({ hits, nearest }: Ranking): object {
  const results = hits.map(({ tool, relevance }) => ({
    server: tool.server,
    tool: tool.name,
    summary: summaryOf(tool.description),
    relevance: Math.round(relevance * 100) / 100,
    tags: tool.tags,
  }));
  if (hits.length > 0 || nearest.length === 0) return { results };
  return {
    results,
    nearest: nearest.map(({ server, name, description }) => ({
      server,
      tool: name,
      summary: summaryOf(description),
    })),
  };
}

function describe(query: string, { hits, nearest }: Ranking): string {
  if (hits.length === 0) {
    const close = nearest.map(({ id }) => `  ${shownLine(id)}`);
    const lines = close.length > 0 ? ["", "These come closest:", ...close] : [];
    return `${[`No tool fits "${query}".`, ...lines].join("\n")}\n`;
  }
  const blocks = hits.map(({ tool, relevance }, index) => {
    const summary = shownLine(summaryOf(tool.description));
    return [
      `${index + 1}. ${shownLine(tool.id)} (${Math.round(relevance * 100)}% match)`,
      ...(summary ? [`   ${summary}`] : []),
      ...(tool.tags.length > 0 ? [`   Tags: ${shownLine(tool.tags.join(", "))}`] : []),
    ].join("\n");
  });
  return `Search results for "${query}" (${hits.length} found):\n\n${blocks.join("\n\n")}\n`;
}

/** Whoever misses a tool should know that it may be on a server nobody could ask. */
function notSearched(gateway: Gateway, server: string | undefined): string {
  if (server !== undefined) return "";
  if (serversOf(gateway).length === 0) return noServers(gateway);
  const left = statusesOf(gateway).filter(
    ({ listedAt, config }) => listedAt === undefined && !config.disabled,
  );
  if (left.length === 0) return "";
  const names = left.map(({ name, status }) =>
    status === "disconnected" ? name : `${name} (${status.replace("-", " ")})`,
  );
  return `Not searched, since what they offer is not known: ${names.join(", ")}. See "toolpipe list".\n`;
}
