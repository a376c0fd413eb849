import { type Catalog, type Gateway, nearest, type Tool } from "../../core/mod.ts";
import { getPolicy } from "../../core/services/policy.ts";
import { sha256Hex } from "../../plugins/lib/hash.ts";
import { summarize } from "../../plugins/lib/text/shorten.ts";
import { countNames, toKebabCase } from "../../plugins/lib/tool-names.ts";
import { ensureListed } from "../shared/meta-tools.ts";
import { getDiscovery } from "./options.ts";

/** Pattern of the ids that the specification allows: `adapter:tool`, of small letters, digits and hyphens. */
export const ID_PATTERN = "^[a-z0-9-]+:[a-z0-9-]+$";
/** Relevance below which a tool is too unlike a wrong id to be suggested. */
const MIN_RELEVANCE = 0.5;

/** Two-way mapping of operation ids. */
interface OperationIds {
  /** Every tool but the gateway's own, by operation id. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** Returns the operation id of a tool; the tool's own id where it is no operation. */
  getId(tool: Tool): string;
  /** Returns the adapter id of a server. */
  getAdapterId(server: string): string;
  /** Returns the server behind an adapter id. */
  getServer(adapter: string): string | undefined;
}

const known = new WeakMap<Catalog, OperationIds & { readonly revision: number }>();
/** Names by list of tools: the catalog never changes a list, it replaces it. */
const namesByList = new WeakMap<readonly Tool[], readonly string[]>();

/**
 * Returns the operation ids of a gateway. Servers and tools may have any name, so each gets an id of the pattern: its
 * own name where that fits, else one derived from it. Ids do not depend on the order of the servers.
 */
export function getOperationIds({ catalog, services }: Gateway): OperationIds {
  const before = known.get(catalog);
  if (before?.revision === catalog.revision) return before;
  const servers = catalog.servers().map(({ id }) => id);
  // A server that is not listed yet has an id too: a first call names it.
  const all = [...new Set([...servers, ...(services.servers?.statuses() ?? []).map(({ name }) => name)])];
  const adapters = new Map(zip(all, createUniqueNames(all)));
  const back = new Map([...adapters].map(([server, adapter]) => [adapter, server]));
  const tools = new Map<string, Tool>();
  const ids = new Map<Tool, string>();
  for (const server of servers) {
    const list = catalog.tools(server);
    const names = namesByList.get(list) ?? createUniqueNames(list.map(({ name }) => name));
    namesByList.set(list, names);
    for (const [tool, name] of zip(list, names)) {
      const id = `${adapters.get(server)}:${name}`;
      tools.set(id, tool);
      ids.set(tool, id);
    }
  }
  const created = {
    revision: catalog.revision,
    tools,
    getId: (tool: Tool) => ids.get(tool) ?? tool.id,
    getAdapterId: (server: string) => adapters.get(server) ?? server,
    getServer: (adapter: string) => back.get(adapter),
  };
  known.set(catalog, created);
  return created;
}

/**
 * Creates a name of the pattern for each string. A string that is such a name is kept; of the others, those that would
 * share a name get a hash of their string, so that no name depends on which came first.
 */
export function createUniqueNames(strings: readonly string[]): string[] {
  const slugs = strings.map((string: string): string =>
    /^[a-z0-9-]+$/.test(string) ? string : toKebabCase(string, 200),
  );
  const uses = countNames(slugs);
  const taken = new Set(slugs.filter((slug, index) => slug === strings[index]));
  return slugs.map((slug, index) => {
    const string = strings[index] as string;
    if (slug !== "" && (slug === string || uses.get(slug) === 1)) return slug;
    const hash = sha256Hex(string);
    for (let digits = 6; ; digits += 6) {
      const name = `${slug || "x"}-${hash.slice(0, digits)}`;
      if ((taken.has(name) || uses.has(name)) && digits < hash.length) continue;
      taken.add(name);
      return name;
    }
  });
}

function zip<A, B>(left: readonly A[], right: readonly B[]): [A, B][] {
  return left.map((one, index) => [one, right[index] as B]);
}

/** Returns the adapter in a tool id. */
export function parseAdapterId(id: string): string {
  return id.slice(0, Math.max(0, id.indexOf(":")));
}

/**
 * Finds the tool of an operation id or of a catalog id. A server that was never listed is listed first. The gateway's
 * own tools are no operations.
 */
export async function findOperation(gateway: Gateway, id: string): Promise<Tool | undefined> {
  const found = lookUp(gateway, id);
  if (found) return found;
  const adapter = parseAdapterId(id);
  const server = getOperationIds(gateway).getServer(adapter) ?? adapter;
  const { adapters } = gateway.services;
  if (adapters?.get(server)) await adapters.settled();
  await ensureListed(gateway, server);
  return lookUp(gateway, id);
}

function lookUp(gateway: Gateway, id: string): Tool | undefined {
  const found = getOperationIds(gateway).tools.get(id) ?? gateway.catalog.tool(id);
  if (found && !found.builtin) return found;
  // A cut result names a tool to read on with, which is in no list.
  const reader = gateway.services.results?.tool;
  return reader && (reader.id === id || reader.id.replaceAll("_", "-") === id) ? reader : undefined;
}

/** Suggests operation ids for a wrong one. */
export async function suggestOperations(gateway: Gateway, id: string): Promise<string[]> {
  const ids = getOperationIds(gateway);
  const alike = nearest(id, [...listLiveOperations(gateway).keys()]);
  const server = ids.getServer(parseAdapterId(id));
  const words = id.slice(id.indexOf(":") + 1);
  const related = await getDiscovery(gateway)?.search(words, { limit: 3, server });
  const found = (related?.hits ?? []).flatMap(({ tool, relevance }) =>
    relevance >= MIN_RELEVANCE ? [ids.getId(tool)] : [],
  );
  return [...new Set([...(alike === undefined ? [] : [alike]), ...found])].slice(0, 3);
}

/** Lists the operations that can be called now by their ids, sorted by id. */
export function listLiveOperations(gateway: Gateway): Map<string, Tool> {
  const enabled = [...getOperationIds(gateway).tools].filter(([, tool]) => tool.enabled);
  return new Map(enabled.toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

/** Whether an operation may be repeated: it only reads or replaces, or a key makes it happen once. */
export function isIdempotent(tool: Tool): boolean {
  const { operation, annotations } = tool;
  const { idempotencyRequired, riskLevel } = getPolicy(tool);
  if (idempotencyRequired || riskLevel === "low") return true;
  if (operation) return /^(GET|HEAD|OPTIONS|TRACE|PUT|DELETE)$/.test(operation.method);
  return annotations?.readOnlyHint === true || annotations?.idempotentHint === true;
}

/** Returns the description of an operation as its document has it: without the name that the catalog puts before it. */
export function describeOperation({ title, name, description = "" }: Tool): string {
  const lead = title === undefined || /[.!?…]$/.test(title) ? (title ?? "") : `${title}.`;
  const own =
    lead !== "" && description.startsWith(`${lead} `) ? description.slice(lead.length + 1) : description;
  return own || title || name;
}

/** Returns the first sentence of the description of an operation. */
export function summarizeOperation(tool: Tool): string {
  return summarize(describeOperation(tool));
}

/** Returns the category of an operation: that of its document or else the first part of its path. */
export function getCategory({ operation, tags }: Tool): string {
  const [segment] = (operation?.path ?? "")
    .split("/")
    .filter((part) => part !== "" && !/^(v\d[\w.]*|api|\{.*\})$/i.test(part));
  return (operation?.category ?? segment ?? tags[0] ?? "general").trim().toLowerCase() || "general";
}
