import type { Gateway } from "../../core/mod.ts";
import { configArgs, defineCommand } from "../../core/services/command.ts";
import type { Ranking } from "../../core/services/search.ts";
import {
  askServers,
  checkServer,
  explainNoServers,
  findServerError,
  listServerRows,
  listStatuses,
  unknownServers,
} from "../lib/servers.ts";
import { output, toTerminalLine, usageError } from "../lib/terminal/output.ts";
import { summarize } from "../lib/text/shorten.ts";
import { openGateway } from "./context.ts";

/** No tool fits. */
const NOTHING_FOUND = 2;

/** Searches the tools of all servers. */
export const command = defineCommand({
  args: {
    query: { type: "positional", required: true, description: "What the tool should do" },
    server: { type: "string", description: "Only tools of this server", valueHint: "NAME" },
    limit: { type: "string", description: "Largest number of results", default: "10", valueHint: "N" },
    json: { type: "boolean", description: "Print JSON" },
    ...configArgs,
  },
  async run(given) {
    const { query, server } = given;
    const limit = /^\d+$/.test(given.limit) ? Number(given.limit) : 0;
    if (!Number.isSafeInteger(limit) || limit < 1)
      throw usageError(`The option --limit needs a whole number, 1 or more, not "${given.limit}".`);
    if (query.trim() === "") throw usageError("The query is empty. Describe what the tool should do.");
    if (server === "") throw usageError("The option --server needs the name of a server.");
    return openGateway(
      given,
      async (gateway) => {
        if (server !== undefined) checkServer(gateway, server);
        const ranking = await findTools(gateway, query, { server, limit });
        const found = ranking.hits.length > 0;
        const failure = !found && server !== undefined && findServerError(gateway, server);
        if (failure) throw failure;
        output(given.json, toJson(ranking), () => describe(query, ranking));
        if (!given.json) process.stderr.write(describeUnsearched(gateway, server));
        return found ? 0 : NOTHING_FOUND;
      },
      { with: ["search"] },
    );
  },
});

/** Searches the known tools at once, and asks unlisted servers only if nothing is found. */
async function findTools(
  gateway: Gateway,
  query: string,
  options: { readonly server: string | undefined; readonly limit: number },
): Promise<Ranking> {
  const searchNow = async (): Promise<Ranking> =>
    (await gateway.services.search?.(query, options)) ?? { hits: [], nearest: [] };
  const unknown = unknownServers(gateway, options.server);
  const known = gateway.catalog.tools().length > 0;
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
    summary: summarize(tool.description),
    relevance: Math.round(relevance * 100) / 100,
    tags: tool.tags,
  }));
  if (hits.length > 0 || nearest.length === 0) return { results };
  return {
    results,
    nearest: nearest.map(({ server, name, description }) => ({
      server,
      tool: name,
      summary: summarize(description),
    })),
  };
}

function describe(query: string, { hits, nearest }: Ranking): string {
  if (hits.length === 0) {
    const close = nearest.map(({ id }) => `  ${toTerminalLine(id)}`);
    const lines = close.length > 0 ? ["", "These come closest:", ...close] : [];
    return `${[`No tool fits "${query}".`, ...lines].join("\n")}\n`;
  }
  const blocks = hits.map(({ tool, relevance }, index) => {
    const summary = toTerminalLine(summarize(tool.description));
    return [
      `${index + 1}. ${toTerminalLine(tool.id)} (${Math.round(relevance * 100)}% match)`,
      ...(summary ? [`   ${summary}`] : []),
      ...(tool.tags.length > 0 ? [`   Tags: ${toTerminalLine(tool.tags.join(", "))}`] : []),
    ].join("\n");
  });
  return `Search results for "${query}" (${hits.length} found):\n\n${blocks.join("\n\n")}\n`;
}

/** Names the servers whose tools are not known: a missing tool may be there. */
function describeUnsearched(gateway: Gateway, server: string | undefined): string {
  if (server !== undefined) return "";
  if (listServerRows(gateway).length === 0) return explainNoServers(gateway);
  const unlisted = listStatuses(gateway).filter(
    ({ listedAt, config }) => listedAt === undefined && !config.disabled,
  );
  if (unlisted.length === 0) return "";
  const names = unlisted.map(({ name, status }) =>
    status === "disconnected" ? name : `${name} (${status.replace("-", " ")})`,
  );
  return `Not searched, because their tools are not known: ${names.join(", ")}. See "toolpipe list".\n`;
}
