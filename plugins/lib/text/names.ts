import type { Tool } from "../../../core/mod.ts";
import { keyOf } from "./text.ts";

/** A longer text is no name. */
const MAX_NAME = 300;
/** Limits of the search for names in a query. */
const MAX_CHARACTERS = 4_000;
const MAX_MENTIONS = 8;
/** Spelling of identifiers: `create_issue`, `github:create_issue`, `createIssue`. */
const IDENTIFIER = /[_:]|\p{Ll}\p{Lu}/u;

/** How a query names a tool, from not at all to letter by letter. */
export const naming = {
  none: 0,
  /** The query has its name as an identifier. */
  mentioned: 1,
  /** The query is the name, apart from case and separators, alone or after the server's. */
  alike: 2,
  /** The query is the name or the id. */
  exact: 3,
} as const;

/** Tools by their names. */
export interface Names {
  add(server: string, tools: readonly Tool[]): void;
  remove(server: string, tools: readonly Tool[]): void;
  /** Finds the tools that a query names, with a value of {@link naming}. */
  named(query: string): ReadonlyMap<Tool, number>;
}

/** Creates an empty list of names. */
export function createNames(): Names {
  const tools = new Map<string, Tool[]>();
  const servers = new Map<string, string[]>();

  /** Tools with this name, alone or after that of their server: every way to split the key is tried. */
  const toolsOf = (key: string): Tool[] => {
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
        for (const tool of toolsOf(toKey(mention))) found.set(tool, naming.mentioned);
      if (text.length > MAX_NAME) return found;
      for (const tool of toolsOf(toKey(text)))
        found.set(tool, text === tool.name || text === tool.id ? naming.exact : naming.alike);
      return found;
    },
  };
}

/** A name may have no letter at all. */
function toKey(text: string): string {
  return keyOf(text) || text;
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
