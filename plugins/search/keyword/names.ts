import type { Tool } from "../../../core/mod.ts";
import { keyOf } from "../text.ts";

/** What is longer is no name. */
const LONGEST_NAME = 300;
/** Only so much of a query is looked through for names, and only so many are looked up. */
const READ_FOR_MENTIONS = 4_000;
const MAX_MENTIONS = 8;
/** Written as names are in code: `create_issue`, `github:create_issue`, `createIssue`. */
const LIKE_A_NAME = /[_:]|\p{Ll}\p{Lu}/u;

/** How a query names a tool, from not at all to letter by letter. */
export const naming = {
  none: 0,
  /** Somewhere in it, written as in code. */
  mentioned: 1,
  /** The query is the name but for upper case and separators, alone or after the server's. */
  alike: 2,
  /** The query is the name or the id. */
  exact: 3,
} as const;

/** The tools by their names. */
export interface Names {
  add(server: string, tools: readonly Tool[]): void;
  remove(server: string, tools: readonly Tool[]): void;
  /** The tools that a query names, and how. */
  named(query: string): ReadonlyMap<Tool, number>;
}

/** Makes an empty list of names. */
export function createNames(): Names {
  const tools = new Map<string, Tool[]>();
  const servers = new Map<string, string[]>();

  /** The tools of a name, and those of a server's name and theirs: all ways to part the key are tried. */
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
      put(servers, keyFor(server), server);
      for (const tool of list) put(tools, keyFor(tool.name), tool);
    },
    remove(server, list) {
      take(servers, keyFor(server), server);
      for (const tool of list) take(tools, keyFor(tool.name), tool);
    },
    named(query) {
      const found = new Map<Tool, number>();
      const text = query.slice(0, READ_FOR_MENTIONS).trim();
      if (text === "") return found;
      const pieces = text.split(/[\s"'`“”‘’«»(),;!?<>[\]{}]+/u);
      const mentions = pieces.filter((piece) => piece.length <= LONGEST_NAME && LIKE_A_NAME.test(piece));
      for (const mention of mentions.slice(0, MAX_MENTIONS))
        for (const tool of toolsOf(keyFor(mention))) found.set(tool, naming.mentioned);
      if (text.length > LONGEST_NAME) return found;
      for (const tool of toolsOf(keyFor(text)))
        found.set(tool, text === tool.name || text === tool.id ? naming.exact : naming.alike);
      return found;
    },
  };
}

/** A name may be nothing but signs. */
function keyFor(text: string): string {
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
