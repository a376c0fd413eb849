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
        const ranking = await findTools(gateway, query, server);
        const found = ranking.hits.length > 0;
        const failure = !found && server !== undefined && findServerError(gateway, server);
        if (failure) throw failure;
        output(given.json, toJson(ranking, limit), () => describe(query, ranking, limit));
        if (!given.json)
          process.stderr.write(`${describeDisabled(ranking)}${describeUnsearched(gateway, server)}`);
        return found ? 0 : NOTHING_FOUND;
      },
      { with: ["search"] },
    );
  },
});

/** Searches the known tools, after old listings were read again. Servers that were never listed are asked only if nothing is found. */
async function findTools(gateway: Gateway, query: string, server: string | undefined): Promise<Ranking> {
  const searchNow = async (): Promise<Ranking> => {
    // All that fit are counted, not only those that are printed.
    const options = { server, limit: gateway.catalog.tools().length, countDisabled: true };
    return (await gateway.services.search?.(query, options)) ?? { hits: [], nearest: [] };
  };
  const unknown = unknownServers(gateway, server);
  await askServers(
    gateway,
    unknown.filter(({ listedAt }) => listedAt !== undefined),
  );
  const unlisted = unknown.filter(({ listedAt }) => listedAt === undefined);
  if (gateway.catalog.tools().length > 0) {
    const ranking = await searchNow();
    if (ranking.hits.length > 0 || unlisted.length === 0) return ranking;
  }
  await askServers(gateway, unlisted);
  return searchNow();
}

function toJson({ hits, nearest, disabled = 0 }: Ranking, limit: number): object {
  const results = hits.slice(0, limit).map(({ tool, relevance }) => ({
    server: tool.server,
    tool: tool.name,
    summary: summarize(tool.description),
    relevance: Math.round(relevance * 100) / 100,
    tags: tool.tags,
  }));
  const note = disabled > 0 ? { disabled } : {};
  if (hits.length > 0 || nearest.length === 0) return { results, ...note };
  return {
    results,
    ...note,
    nearest: nearest.map(({ server, name, description }) => ({
      server,
      tool: name,
      summary: summarize(description),
    })),
  };
}

function describe(query: string, { hits, nearest }: Ranking, limit: number): string {
  if (hits.length === 0) {
    const close = nearest.map(({ id }) => `  ${toTerminalLine(id)}`);
    const lines = close.length > 0 ? ["", "These come closest:", ...close] : [];
    return `${[`No tool fits "${query}".`, ...lines].join("\n")}\n`;
  }
  const blocks = hits.slice(0, limit).map(({ tool, relevance }, index) => {
    const summary = toTerminalLine(summarize(tool.description));
    return [
      `${index + 1}. ${toTerminalLine(tool.id)} (${Math.round(relevance * 100)}% match)`,
      ...(summary ? [`   ${summary}`] : []),
      ...(tool.tags.length > 0 ? [`   Tags: ${toTerminalLine(tool.tags.join(", "))}`] : []),
    ].join("\n");
  });
  return `Search results for "${query}" (${hits.length} found):\n\n${blocks.join("\n\n")}\n`;
}

function describeDisabled({ disabled = 0 }: Ranking): string {
  if (disabled === 0) return "";
  const what = disabled === 1 ? "1 disabled tool fits" : `${disabled} disabled tools fit`;
  return `${what} too. "toolpipe tools --all" lists disabled tools.\n`;
}

/** Names the servers whose tools are not known: a missing tool may be there. */
function describeUnsearched(gateway: Gateway, server: string | undefined): string {
  if (server !== undefined) return "";
  if (listServerRows(gateway).length === 0) return explainNoServers(gateway);
  const unlisted = listStatuses(gateway).filter(
    ({ listedAt, config }) => listedAt === undefined && !config.disabled && !config.declaredTools?.length,
  );
  if (unlisted.length === 0) return "";
  const names = unlisted.map(({ name, status }) =>
    status === "disconnected" ? name : `${name} (${status.replace("-", " ")})`,
  );
  return `Not searched, because their tools are not known: ${names.join(", ")}. See "toolpipe list".\n`;
}
