import { type Command, defineCommand } from "../../../core/services/command.ts";
import { listUses } from "../../lib/server-entry/server-json.ts";
import { showWaiting } from "../../lib/servers.ts";
import { formatCount, output, usageError } from "../../lib/terminal/output.ts";
import { formatRegistry } from "../options.ts";
import { createRegistryRanker } from "../rank.ts";
import { type FoundServers, findLocal, findRemote } from "../search.ts";
import { formatStatus, openRegistries, parseLimit, registryArgs } from "./registries.ts";

/** Exit code where no server fits. */
const NOTHING_FOUND = 2;
const DAY_MS = 86_400_000;

/** Searches the servers of registries. */
export const command: Command = defineCommand({
  args: {
    query: { type: "positional", required: true, description: "What the server should do" },
    limit: { type: "string", description: "At most so many", default: "10", valueHint: "N" },
    remote: { type: "boolean", description: "Ask the registries, even if there is a copy on this machine" },
    json: { type: "boolean", description: "Print JSON" },
    ...registryArgs,
  },
  async run(given, context) {
    const { query } = given;
    const limit = parseLimit(given.limit);
    if (query.trim() === "") throw usageError("The query is empty.");
    const found = await openRegistries(context, given, async ({ gateway, client, mirror }) => {
      const options = { limit, ranker: () => createRegistryRanker(gateway) };
      const done = showWaiting(`Searching for "${query}" …`);
      try {
        const local = given.remote ? undefined : await findLocal(mirror, query, options);
        return local ?? (await findRemote(client, query, options));
      } finally {
        done();
      }
    });
    output(given.json, toJson(found), () => describe(query, found));
    if (!given.json) process.stderr.write(notes(found));
    return found.hits.length > 0 ? 0 : NOTHING_FOUND;
  },
});

function toJson({ hits, leftOut, source, known, troubles }: FoundServers): object {
  return {
    results: hits.map(({ entry, relevance }) => ({
      name: entry.name,
      version: entry.version,
      ...(entry.title !== undefined && { title: entry.title }),
      description: entry.description,
      relevance: Math.round(relevance * 100) / 100,
      status: entry.status,
      ...(entry.statusMessage !== undefined && { statusMessage: entry.statusMessage }),
      ways: listUses(entry.server),
      registry: formatRegistry(entry.registry),
    })),
    leftOut,
    source,
    ...(known?.syncedAt !== undefined && { syncedAt: new Date(known.syncedAt).toISOString() }),
    ...(troubles.length > 0 && { troubles: troubles.map(({ message }) => message) }),
  };
}

function describe(query: string, { hits, known }: FoundServers): string {
  if (hits.length === 0) return `No server fits "${query}".\n`;
  const blocks = hits.map(({ entry }, index) => {
    const status = formatStatus(entry);
    const ways = listUses(entry.server);
    return [
      `${index + 1}. ${entry.name} ${entry.version}`,
      ...(entry.description ? [`   ${entry.description}`] : []),
      ...(status ? [`   ! ${capitalize(status)}`] : []),
      `   ${ways.length > 0 ? `By: ${ways.join(", ")}` : "It cannot be started here."}`,
    ].join("\n");
  });
  const of = known ? ` of ${formatCount(known.servers, "server")}` : "";
  return `Search results for "${query}" (${hits.length} found${of}):\n\n${blocks.join("\n\n")}\n`;
}

function notes({ hits, leftOut, source, known, troubles }: FoundServers): string {
  const lines = troubles.map(({ message }) => `! ${message}`);
  if (leftOut > 0) lines.push(`${formatCount(leftOut, "more server")}: --limit ${hits.length + leftOut}`);
  if (source === "registry")
    lines.push(
      'Registries find little more than names. "toolpipe registry sync" makes a copy that finds more.',
    );
  const age = known?.syncedAt === undefined ? undefined : Date.now() - known.syncedAt;
  if (age !== undefined && age > DAY_MS)
    lines.push(
      `This is ${formatCount(Math.floor(age / DAY_MS), "day")} old. "toolpipe registry sync" renews it.`,
    );
  return lines.map((line) => `${line}\n`).join("");
}

function capitalize(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
