import { createHash } from "node:crypto";
import type { Catalog, Gateway, Tool } from "../../core/mod.ts";

/** The ids that the specification allows: `adapter:tool`, of small letters, digits and hyphens. */
export const ID_PATTERN = "^[a-z0-9-]+:[a-z0-9-]+$";

/** The ids of operations, there and back. */
export interface OperationIds {
  /** Every tool that is not the gateway's own, by the id of its operation. */
  readonly tools: ReadonlyMap<string, Tool>;
  /** The id of an operation; the tool's own where it is none. */
  idOf(tool: Tool): string;
  /** The id of the adapter that a server is. */
  adapterOf(server: string): string;
  /** The server behind an adapter. */
  serverOf(adapter: string): string | undefined;
}

interface Kept extends OperationIds {
  readonly revision: number;
}

const known = new WeakMap<Catalog, Kept>();
/** The names of the tools of one server: the catalog never changes a list of tools, it has another one. */
const namesOfList = new WeakMap<readonly Tool[], readonly string[]>();

/**
 * The operations of a gateway. Servers and tools may be called anything, so each gets an id of the pattern: its own
 * name where that fits, else one made of it. Ids do not depend on the order in which servers came.
 */
export function operationIds(gateway: Gateway): OperationIds {
  const { catalog } = gateway;
  const before = known.get(catalog);
  if (before?.revision === catalog.revision) return before;
  const servers = catalog.servers().map(({ id }) => id);
  const listed = new Set(servers);
  // One that could not be listed yet has an id all the same: it is what a first call names.
  const waiting = (gateway.services.servers?.statuses() ?? []).flatMap(({ name }) =>
    listed.has(name) ? [] : [name],
  );
  const all = [...servers, ...waiting];
  const adapters = new Map(zip(all, uniqueNames(all)));
  const back = new Map([...adapters].map(([server, adapter]) => [adapter, server]));
  const tools = new Map<string, Tool>();
  const ids = new Map<Tool, string>();
  for (const server of servers) {
    const list = catalog.tools(server);
    let names = namesOfList.get(list);
    if (!names) {
      names = uniqueNames(list.map(({ name }) => name));
      namesOfList.set(list, names);
    }
    for (const [tool, name] of zip(list, names)) {
      const id = `${adapters.get(server)}:${name}`;
      tools.set(id, tool);
      ids.set(tool, id);
    }
  }
  const made: Kept = {
    revision: catalog.revision,
    tools,
    idOf: (tool) => ids.get(tool) ?? tool.id,
    adapterOf: (server) => adapters.get(server) ?? server,
    serverOf: (adapter) => back.get(adapter),
  };
  known.set(catalog, made);
  return made;
}

/**
 * A name of the pattern for each text. One that is such a name keeps it; of the others, those that would share a name
 * with any other each end in a hash of their own text, so that none of them depends on which came first.
 */
export function uniqueNames(texts: readonly string[]): string[] {
  const slugs = texts.map(slugOf);
  const uses = new Map<string, number>();
  for (const slug of slugs) uses.set(slug, (uses.get(slug) ?? 0) + 1);
  const taken = new Set(slugs.filter((slug, index) => slug === texts[index]));
  return slugs.map((slug, index) => {
    const text = texts[index] as string;
    if (slug !== "" && (slug === text || uses.get(slug) === 1)) return slug;
    const hash = createHash("sha256").update(text).digest("hex");
    for (let digits = 6; ; digits += 6) {
      const name = `${slug || "x"}-${hash.slice(0, digits)}`;
      if ((taken.has(name) || uses.has(name)) && digits < hash.length) continue;
      taken.add(name);
      return name;
    }
  });
}

function slugOf(text: string): string {
  if (/^[a-z0-9-]+$/.test(text)) return text;
  return text
    .slice(0, 200)
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "");
}

function zip<A, B>(left: readonly A[], right: readonly B[]): [A, B][] {
  return left.map((one, index) => [one, right[index] as B]);
}
