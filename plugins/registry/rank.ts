import type { Tool } from "../../core/mod.ts";
import type { Ranker } from "../search/ranker.ts";
import { objectsIn, type RegistryEntry } from "./entry.ts";

/** A server that fits a query. */
export interface RegistryHit {
  readonly entry: RegistryEntry;
  /** Between 0 and 1. */
  readonly relevance: number;
}

/** Finds the servers that fit a query, best first. */
export interface RegistryIndex {
  rank(query: string, limit: number): Promise<readonly RegistryHit[]>;
}

/** A server that is on its way out comes behind one that is about as good. */
const DEPRECATED = 0.5;
/** What is so much less relevant than the best only fills the screen. */
const TAIL = 0.25;

/** Makes servers searchable by the words and the meaning of their names and descriptions, without any network. */
export async function registryIndex(entries: readonly RegistryEntry[]): Promise<RegistryIndex> {
  // Loaded here: what only reads a registry need not wait for it.
  const { fusionRanker } = await import("../search/fusion.ts");
  // Whoever searches a registry wants to choose: what is only likely is shown as well.
  const ranker: Ranker = fusionRanker({ gate: 0 });
  const live = entries.filter(({ status }) => status !== "deleted");
  const byId = new Map(live.map((entry) => [toolOf(entry), entry]));
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

/** A server in the form that rankers read: its own name, whose it is, and what it says of itself. */
function toolOf(entry: RegistryEntry): Tool {
  const { name, title, description, server } = entry;
  const [owner = "", own = ""] = name.split("/");
  return {
    id: `registry:${name}`,
    // What the names of all of them share tells none from another.
    name: own.replace(/(^|[-_.])(mcp|server)(?=$|[-_.])/gi, "") || own,
    server: owner.replace(/^(io|com|ai|dev|org|net|app|co)\./, "").replace(/^(github|gitlab)\./, ""),
    title,
    description: description === "" ? title : description,
    inputSchema: { type: "object", properties: variablesOf(server) },
    tags: [],
    enabled: true,
    builtin: false,
  };
}

/** The variables that a server wants often name the service it is for. */
function variablesOf(server: RegistryEntry["server"]): Record<string, object> {
  const packages = objectsIn(server, "packages").slice(0, 3);
  const variables = packages.flatMap((one) => objectsIn(one, "environmentVariables").slice(0, 10));
  return Object.fromEntries(
    variables.flatMap(({ name, description }) =>
      typeof name === "string" ? [[name.slice(0, 100), { description }]] : [],
    ),
  );
}
