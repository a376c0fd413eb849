import { splitWords } from "../../lib/text/words.ts";
import { knownDomains } from "./known.ts";
import { splitAtVerbs } from "./verbs.ts";

/** Names are untrusted; the rest of a longer name says nothing new. */
const MAX_NAME = 200;
const MAX_OBJECT_WORDS = 3;
const MAX_PRODUCT_WORDS = 3;

/** Words that do not distinguish servers. */
const noise: ReadonlySet<string> = new Set(
  `mcp server servers api apis tool tools client the official service services community local remote plugin
  integration connector adapter cli sdk ai io com org net dev app co alpha beta inc labs http stdio hosted
  modelcontextprotocol model protocol www`.split(/\s+/),
);
/** Words that begin a qualifier, which is not part of the object. */
const turning: ReadonlySet<string> = new Set("by for from in into on to with of using via at as".split(" "));
const VERSION = /^v\d+$/;

/**
 * Infers the domain of a server from its name: the domain of a known product, or else its own name.
 *
 * @example
 * ```ts
 * import { primaryDomain } from "toolpipe/plugins/domains";
 *
 * primaryDomain("aws-s3-server"); // "cloud.aws"
 * ```
 */
export function primaryDomain(serverName: string): string {
  // Names in registries and of packages begin with an owner, which counts only if the rest says nothing.
  const parts = serverName.slice(0, MAX_NAME).split(/\/|__/).toReversed().map(listTelling);
  for (const words of parts) {
    const known = findKnown(words);
    if (known !== undefined) return known;
    if (words.length > 0) return words.slice(0, MAX_PRODUCT_WORDS).join("_");
  }
  return "general";
}

/** Infers the subject of a tool from its name: its object, in the plural. Undefined if the name is only a verb. */
export function subDomain(toolName: string): string | undefined {
  return findObject(splitName(toolName.slice(0, MAX_NAME)), new Set());
}

/** Infers the domains of a tool: that of its server, and the tool's subject within it. */
export function inferDomains(serverName: string, toolName: string): readonly string[] {
  const primary = primaryDomain(serverName);
  // Many tools repeat the name of their server.
  const said = new Set([...splitName(serverName.slice(0, MAX_NAME)), ...primary.split(/[._]/)]);
  const sub = findObject(splitName(toolName.slice(0, MAX_NAME)), said);
  return sub === undefined ? [primary] : [primary, `${primary}.${sub}`];
}

/** Splits a name into words as search does, except for scripts that search splits into pairs of letters. */
function splitName(text: string): readonly string[] {
  if (!/[^\0-\x7f]/.test(text)) return splitWords(text);
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function listTelling(part: string): readonly string[] {
  return splitName(part).filter((word) => !noise.has(word) && !VERSION.test(word));
}

function findKnown(words: readonly string[]): string | undefined {
  for (const [at, word] of words.entries()) {
    const pair = knownDomains.get(`${word} ${words[at + 1] ?? ""}`);
    if (pair !== undefined) return pair;
  }
  for (const word of words) {
    const known = knownDomains.get(word);
    if (known !== undefined) return known;
  }
}

function findObject(words: readonly string[], said: ReadonlySet<string>): string | undefined {
  const plain = words.filter((word) => !VERSION.test(word) && !noise.has(word));
  const { before, after } = splitAtVerbs(plain);
  return findNoun(after, said) ?? findNoun(before, said);
}

function findNoun(words: readonly string[], said: ReadonlySet<string>): string | undefined {
  const turn = words.findIndex((word) => turning.has(word));
  const nouns = words.slice(0, turn === -1 ? undefined : turn).filter((word) => !said.has(word));
  // A list of subscriptions is about subscriptions.
  const object = (nouns.length > 1 && nouns.at(-1) === "list" ? nouns.slice(0, -1) : nouns).slice(
    -MAX_OBJECT_WORDS,
  );
  const last = object.at(-1);
  return last === undefined ? undefined : [...object.slice(0, -1), toPlural(last)].join("_");
}

/** Uncountable words, and plurals. */
const uncounted: ReadonlySet<string> = new Set(
  `code data content information info metadata status history help weather text news access feedback usage media
  storage memory dns whois traffic research documentation health analytics settings statistics stats time money mail
  email audio video software hardware knowledge people children series advice equipment music progress balance
  markdown html json xml csv sql lineage all everything diagnostics details`.split(/\s+/),
);

/** Puts a noun into the plural by the rules of English. */
function toPlural(word: string): string {
  if (uncounted.has(word) || !/[a-z]$/.test(word)) return word;
  if (/(?:ss|sh|ch|x|z|us)$/.test(word)) return `${word}es`;
  if (word.endsWith("s")) return word;
  if (/[^aeiou]y$/.test(word)) return `${word.slice(0, -1)}ies`;
  return `${word}s`;
}
