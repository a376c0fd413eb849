import type { ToolAnnotations } from "../../../core/mod.ts";
import { splitWords } from "../../lib/text/words.ts";
import { type Category, findPlainVerb, listJoinedVerbs, plainVerbs, possibleVerbs } from "./verbs.ts";

export type { Category } from "./verbs.ts";

/** Context of a tool besides its name. */
export interface CategoryContext {
  readonly annotations?: ToolAnnotations | undefined;
  readonly description?: string | undefined;
}

/** More of a name or description than this says nothing new. */
const MAX_NAME = 200;
const MAX_DESCRIPTION = 300;
/** Words of a description in which the verb is expected. */
const MAX_WORDS = 8;

const ORDER: readonly Category[] = [
  "crud.create",
  "crud.read",
  "crud.update",
  "crud.delete",
  "search",
  "execute",
  "compute",
  "communicate",
];

/**
 * Infers what a tool does from the verbs of its name and, if those do not tell, from the beginning of its description and
 * its annotations. Empty if nothing tells.
 *
 * @example
 * ```ts
 * import { inferCategories } from "toolpipe/plugins/domains";
 *
 * inferCategories("search_code"); // ["crud.read", "search"]
 * ```
 */
export function inferCategories(
  toolName: string,
  { annotations, description }: CategoryContext = {},
): readonly Category[] {
  const words = splitWords(toolName.slice(0, MAX_NAME));
  const named = inferByPlainVerbs(words);
  if (named.length > 0) return named;
  const told = splitWords((description ?? "").slice(0, MAX_DESCRIPTION)).slice(0, MAX_WORDS);
  const found = inferByFirstWords(words, told, annotations);
  if (found.length > 0) return found;
  if (annotations?.readOnlyHint === true) return ["crud.read"];
  return [];
}

function inferByPlainVerbs(words: readonly string[]): readonly Category[] {
  const at = findPlainVerb(words);
  if (at === -1) return [];
  const [verb = "", ...others] = listJoinedVerbs(words, at);
  const found = new Set(refine(verb, words, plainVerbs.get(verb) ?? []));
  for (const other of others) {
    for (const category of plainVerbs.get(other) ?? possibleVerbs.get(other) ?? []) found.add(category);
  }
  return ORDER.filter((category) => found.has(category));
}

/** Refines the categories of verbs that depend on their object. */
function refine(
  verb: string,
  words: readonly string[],
  categories: readonly Category[],
): readonly Category[] {
  const has = (...others: readonly string[]): boolean => others.some((other) => words.includes(other));
  if (verb === "send" && has("keys", "key", "input", "command", "event", "request", "transaction"))
    return ["execute"];
  if (
    categories[0] === "crud.read" &&
    has("search", "query") &&
    words.indexOf("search") > words.indexOf(verb)
  )
    return ["crud.read", "search"];
  return categories;
}

function inferByFirstWords(
  words: readonly string[],
  told: readonly string[],
  annotations: ToolAnnotations | undefined,
): readonly Category[] {
  const possible = words.find((word) => possibleVerbs.has(word));
  const [first = ""] = told;
  const said = plainVerbs.get(first) ?? plainVerbs.get(toBaseForm(first));
  const own = possible === undefined ? undefined : possibleVerbs.get(possible);
  // A name like "search" or "query" is the verb itself, unless its server says that something is run.
  if (said && !(own?.includes("search") && said[0] === "crud.read")) return said;
  if (own) return own;
  const later = told.find((word) => plainVerbs.has(word) || plainVerbs.has(toBaseForm(word)));
  if (later !== undefined) return plainVerbs.get(later) ?? plainVerbs.get(toBaseForm(later)) ?? [];
  const noun = told.find((word) => possibleVerbs.has(word));
  const guessed = noun === undefined ? [] : (possibleVerbs.get(noun) ?? []);
  return annotations?.readOnlyHint === true ? guessed.filter((one) => one !== "crud.update") : guessed;
}

/** Converts `retrieves` to `retrieve`, `fetches` to `fetch`. */
function toBaseForm(word: string): string {
  if (/(?:ch|sh|ss|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("ies") ? `${word.slice(0, -3)}y` : word.replace(/s$/, "");
}
