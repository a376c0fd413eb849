import type { ToolAnnotations } from "../../../core/mod.ts";
import { wordsOf } from "../../lib/text/text.ts";
import { findPlainVerb, joinedVerbs } from "./verb-at.ts";
import { type Category, plainVerbs, possibleVerbs } from "./verbs.ts";

export type { Category } from "./verbs.ts";

/** Context of a tool besides its name. */
export interface CategoryContext {
  readonly annotations?: ToolAnnotations | undefined;
  readonly description?: string | undefined;
}

/** More of a name or description than this says nothing new. */
const MAX_NAME = 200;
const MAX_DESCRIPTION = 300;
/** A sentence says what a tool does with one of its first words. */
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
 * What a tool does, by the verbs of its name and, where those leave it open, by how its description begins and by
 * what its server says of it. Nothing where nothing tells.
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
  const words = wordsOf(toolName.slice(0, MAX_NAME));
  const named = byPlainVerbs(words);
  if (named.length > 0) return named;
  const told = wordsOf((description ?? "").slice(0, MAX_DESCRIPTION)).slice(0, MAX_WORDS);
  const found = byFirst(words, told, annotations);
  if (found.length > 0) return found;
  if (annotations?.readOnlyHint === true) return ["crud.read"];
  return [];
}

function byPlainVerbs(words: readonly string[]): readonly Category[] {
  const at = findPlainVerb(words);
  if (at === -1) return [];
  const [verb = "", ...others] = joinedVerbs(words, at);
  const found = new Set(refined(verb, words, plainVerbs.get(verb) ?? []));
  for (const other of others) {
    for (const category of plainVerbs.get(other) ?? possibleVerbs.get(other) ?? []) found.add(category);
  }
  return ORDER.filter((category) => found.has(category));
}

/** Some verbs mean another thing with another object. */
function refined(
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

function byFirst(
  words: readonly string[],
  told: readonly string[],
  annotations: ToolAnnotations | undefined,
): readonly Category[] {
  const possible = words.find((word) => possibleVerbs.has(word));
  const [first = ""] = told;
  const said = plainVerbs.get(first) ?? plainVerbs.get(singular(first));
  const own = possible === undefined ? undefined : possibleVerbs.get(possible);
  // A name like "search" or "query" is the verb itself, unless its server says that something is run.
  if (said && !(own?.includes("search") && said[0] === "crud.read")) return said;
  if (own) return own;
  const later = told.find((word) => plainVerbs.has(word) || plainVerbs.has(singular(word)));
  if (later !== undefined) return plainVerbs.get(later) ?? plainVerbs.get(singular(later)) ?? [];
  const noun = told.find((word) => possibleVerbs.has(word));
  const guessed = noun === undefined ? [] : (possibleVerbs.get(noun) ?? []);
  return annotations?.readOnlyHint === true ? guessed.filter((one) => one !== "crud.update") : guessed;
}

/** `Retrieves` is `retrieve`, `fetches` is `fetch`. */
function singular(word: string): string {
  if (/(?:ch|sh|ss|x|z)es$/.test(word)) return word.slice(0, -2);
  return word.endsWith("ies") ? `${word.slice(0, -3)}y` : word.replace(/s$/, "");
}
