import { type Gateway, nearest, type Tool } from "../../core/mod.ts";
import { learnOf } from "../anygpt/servers.ts";
import { discoveryOf } from "./discovery.ts";
import { operationIds } from "./operation-ids.ts";

/** Below this a tool has too little of a wrong id to have been meant. */
const ALIKE = 0.5;

/**
 * The tool that an id stands for: of the pattern, or as its server calls it. A server that was never asked for its
 * tools is asked now. Nothing where there is no such operation; the gateway's own tools are none.
 */
export async function findOperation(gateway: Gateway, id: string): Promise<Tool | undefined> {
  const known = lookUp(gateway, id);
  if (known) return known;
  const adapter = id.slice(0, Math.max(0, id.indexOf(":")));
  const server = operationIds(gateway).serverOf(adapter) ?? adapter;
  const { adapters } = gateway.services;
  if (adapters?.get(server)) await adapters.settled?.();
  await learnOf(gateway, server);
  return lookUp(gateway, id);
}

function lookUp(gateway: Gateway, id: string): Tool | undefined {
  const found = operationIds(gateway).tools.get(id) ?? gateway.catalog.tool(id);
  if (found && !found.builtin) return found;
  // A result that is cut names a tool to read on with, which is in no list.
  const reader = gateway.services.results?.tool;
  return reader && (reader.id === id || reader.id.replaceAll("_", "-") === id) ? reader : undefined;
}

/** The ids that may have been meant. */
export async function suggestionsFor(gateway: Gateway, id: string): Promise<string[]> {
  const ids = operationIds(gateway);
  const usable = [...ids.tools].flatMap(([one, { enabled }]) => (enabled ? [one] : []));
  const alike = nearest(id, usable);
  const server = ids.serverOf(id.slice(0, Math.max(0, id.indexOf(":"))));
  const words = id.slice(id.indexOf(":") + 1);
  const related = await discoveryOf(gateway)?.find(words, { limit: 3, ...(server && { server }) });
  const found = (related?.hits ?? []).flatMap(({ tool, relevance }) =>
    relevance >= ALIKE ? [ids.idOf(tool)] : [],
  );
  return [...new Set([...(alike === undefined ? [] : [alike]), ...found])].slice(0, 3);
}
