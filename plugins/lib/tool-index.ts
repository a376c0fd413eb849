import type { Catalog, Tool } from "../../core/mod.ts";
import { toNameKey } from "./text/words.ts";

/** Longer strings are no names. */
const MAX_NAME = 300;
/** Limits of the search for names in a query. */
const MAX_CHARACTERS = 4_000;
const MAX_MENTIONS = 8;
/** Spelling of identifiers: `create_issue`, `github:create_issue`, `createIssue`. */
const IDENTIFIER = /[_:]|\p{Ll}\p{Lu}/u;

/** Match between a query and the name of a tool. */
export const naming = {
  none: 0,
  mentioned: 1,
  /** Equal apart from case and separators, alone or after the name of the server. */
  alike: 2,
  exact: 3,
} as const;

/** Tools by their names. */
export interface NameIndex {
  add(server: string, tools: readonly Tool[]): void;
  remove(server: string, tools: readonly Tool[]): void;
  /** Finds the tools that a query names, with a value of {@link naming}. */
  named(query: string): ReadonlyMap<Tool, number>;
}

/** Creates an empty list of names. */
export function createNameIndex(): NameIndex {
  const tools = new Map<string, Tool[]>();
  const servers = new Map<string, string[]>();

  /** Finds tools by name, alone or after the name of their server: every way to split the key is tried. */
  const findTools = (key: string): Tool[] => {
    const found = [...(tools.get(key) ?? [])];
    for (let end = 1; end < key.length; end++) {
      const of = servers.get(key.slice(0, end));
      if (of) found.push(...(tools.get(key.slice(end)) ?? []).filter(({ server }) => of.includes(server)));
    }
    return found;
  };

  return {
    add(server, list) {
      put(servers, toKey(server), server);
      for (const tool of list) put(tools, toKey(tool.name), tool);
    },
    remove(server, list) {
      take(servers, toKey(server), server);
      for (const tool of list) take(tools, toKey(tool.name), tool);
    },
    named(query) {
      const found = new Map<Tool, number>();
      const text = query.slice(0, MAX_CHARACTERS).trim();
      if (text === "") return found;
      const pieces = text.split(/[\s"'`“”‘’«»(),;!?<>[\]{}]+/u);
      const mentions = pieces.filter((piece) => piece.length <= MAX_NAME && IDENTIFIER.test(piece));
      for (const mention of mentions.slice(0, MAX_MENTIONS))
        for (const tool of findTools(toKey(mention))) found.set(tool, naming.mentioned);
      if (text.length > MAX_NAME) return found;
      for (const tool of findTools(toKey(text)))
        found.set(tool, text === tool.name || text === tool.id ? naming.exact : naming.alike);
      return found;
    },
  };
}

/** Some names have no letter at all. */
function toKey(text: string): string {
  return toNameKey(text) || text;
}

function put<T>(map: Map<string, T[]>, key: string, value: T): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function take<T>(map: Map<string, T[]>, key: string, value: T): void {
  const left = (map.get(key) ?? []).filter((other) => other !== value);
  if (left.length > 0) map.set(key, left);
  else map.delete(key);
}

interface ToolIndex {
  /** Replaces the tools of one server; an empty list removes it. */
  update(server: string, tools: readonly Tool[]): void;
}

/**
 * Returns a function that updates an index where the catalog has changed, and tells whether it has. Policy comes before
 * ranking: the index gets enabled tools, or the disabled ones alone.
 */
export function followCatalog(catalog: Catalog, index: ToolIndex, isEnabled = true): () => boolean {
  const known = new Map<string, readonly Tool[]>();
  let revision = -1;
  return () => {
    if (revision === catalog.revision) return false;
    revision = catalog.revision;
    const servers = new Set(catalog.servers().map(({ id }) => id));
    for (const gone of [...known.keys()].filter((id) => !servers.has(id))) {
      known.delete(gone);
      index.update(gone, []);
    }
    for (const id of servers) {
      // The catalog never changes a list of tools: it replaces it.
      const tools = catalog.tools(id);
      if (known.get(id) === tools) continue;
      known.set(id, tools);
      index.update(
        id,
        tools.filter((tool) => tool.enabled === isEnabled),
      );
    }
    return true;
  };
}
