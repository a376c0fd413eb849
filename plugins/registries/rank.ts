import type { Gateway, Tool } from "../../core/mod.ts";
import type { RegistryEntry } from "../../core/services/registries.ts";
import type { Ranker } from "../../core/services/search.ts";
import { readObjects } from "../lib/server-entry/server-inputs.ts";
import { splitWords } from "../lib/text/words.ts";

/** A server that fits a query. */
export interface RegistryHit {
  readonly entry: RegistryEntry;
  /** Between 0 and 1. */
  readonly relevance: number;
}

/** Ranks servers by a query, best first. */
export interface RegistryIndex {
  rank(query: string, limit: number): Promise<readonly RegistryHit[]>;
}

/** Creates the ranker of a gateway, or one that counts words where no plugin brings a ranker. */
export async function createRegistryRanker(gateway: Pick<Gateway, "drivers">): Promise<Ranker> {
  const create = gateway.drivers("ranker").get("fusion");
  // Users choose from the hits, so less likely ones are listed as well.
  return create ? create({ fusion: { gate: 0 } }, {}) : wordCountRanker();
}

/** Ranks by the share of the query's words that a name or a description has. */
function wordCountRanker(): Ranker {
  let known: readonly Tool[] = [];
  return {
    name: "words",
    update(_, tools) {
      known = tools;
    },
    rank(query, { limit } = {}) {
      const words = [...new Set(splitWords(query))];
      const hits = known.flatMap((tool) => {
        const own = new Set(splitWords(`${tool.server} ${tool.name} ${tool.description}`));
        const relevance = words.filter((word) => own.has(word)).length / words.length;
        return relevance > 0 ? [{ tool, relevance }] : [];
      });
      return { hits: hits.toSorted((a, b) => b.relevance - a.relevance).slice(0, limit), nearest: [] };
    },
  };
}

/** Factor for the relevance of deprecated servers. */
const DEPRECATED = 0.5;
/** Hits below this share of the best relevance are left out. */
const TAIL = 0.25;

/** Indexes servers by the words and the meaning of their names and descriptions, without a network. */
export function createRegistryIndex(entries: readonly RegistryEntry[], ranker: Ranker): RegistryIndex {
  const live = entries.filter(({ status }) => status !== "deleted");
  const byId = new Map(live.map((entry) => [toTool(entry), entry]));
  ranker.update("registry", [...byId.keys()]);
  return {
    async rank(query, limit) {
      const exact = entries.filter(({ name }) => name.toLowerCase() === query.trim().toLowerCase());
      const { hits } = await ranker.rank(query, { limit: limit * 2 });
      const ranked = hits.flatMap(({ tool, relevance }) => {
        const entry = byId.get(tool);
        if (!entry || exact.includes(entry)) return [];
        return [{ entry, relevance: entry.status === "deprecated" ? relevance * DEPRECATED : relevance }];
      });
      const least = TAIL * (hits[0]?.relevance ?? 0);
      const sorted = ranked
        .filter(({ relevance }) => relevance >= least)
        .toSorted((a, b) => b.relevance - a.relevance);
      return [...exact.map((entry) => ({ entry, relevance: 1 })), ...sorted].slice(0, limit);
    },
  };
}

/** Converts a server to the form that rankers index. */
function toTool(entry: RegistryEntry): Tool {
  const { name, title, description, server } = entry;
  const [owner = "", own = ""] = name.split("/");
  return {
    id: `registry:${name}`,
    // Words that most names contain do not distinguish them.
    name: own.replace(/(^|[-_.])(mcp|server)(?=$|[-_.])/gi, "") || own,
    server: owner.replace(/^(io|com|ai|dev|org|net|app|co)\./, "").replace(/^(github|gitlab)\./, ""),
    title,
    description: description === "" ? title : description,
    inputSchema: { type: "object", properties: readVariables(server) },
    tags: [],
    enabled: true,
    builtin: false,
  };
}

/** Variables that a server asks for; they often name the service it is for. */
function readVariables(server: RegistryEntry["server"]): Record<string, object> {
  const packages = readObjects(server, "packages").slice(0, 3);
  const variables = packages.flatMap((one) => readObjects(one, "environmentVariables").slice(0, 10));
  return Object.fromEntries(
    variables.flatMap(({ name, description }) =>
      typeof name === "string" ? [[name.slice(0, 100), { description }]] : [],
    ),
  );
}
