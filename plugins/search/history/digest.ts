import { createHash } from "node:crypto";
import { tellingTerms } from "../_labels.ts";

/** A query is read so far, and no further. */
const MAX_CHARACTERS = 2_000;
const MAX_TERMS = 16;
const LONGEST_TERM = 24;
/** Stands before words that say little. */
const LIGHT = "~";

/** Stems of words that ask for almost anything. They are not left out: to find a file is not to show it. */
const lightWords: ReadonlySet<string> = new Set(
  "get show find fetch retriev display check look see view".split(" "),
);

/**
 * What is remembered of a query: of each word that tells something, a few letters of a hash that differs from
 * actor to actor. That is enough to know a like query by. Whoever reads the disk can guess at common words; a
 * key or a password that got into a query cannot be read back. Empty where nothing in the query tells anything.
 */
export function digestOf(actor: string, query: string): string {
  const terms = [...tellingTerms(query.slice(0, MAX_CHARACTERS))]
    .filter((term) => term.length <= LONGEST_TERM && !/^\d+$/.test(term))
    .slice(0, MAX_TERMS);
  const marks = terms.map((term) => `${lightWords.has(term) ? LIGHT : ""}${markOf(actor, term)}`);
  return [...new Set(marks)].sort().join(".");
}

/** The key that the history of an actor is kept under, without their name. */
export function historyKey(actor: string): string {
  return `${historyKeys}${createHash("sha256").update(JSON.stringify(actor)).digest("hex").slice(0, 32)}`;
}

/** What all of these keys begin with. */
export const historyKeys = "history/";

function markOf(actor: string, term: string): string {
  return createHash("sha256")
    .update(JSON.stringify([actor, term]))
    .digest("base64url")
    .slice(0, 8);
}

/** Compares one query with others, from 0 for nothing in common to 1 for the same words. */
export function likeness(digest: string): (other: string) => number {
  const own = marksOf(digest);
  const ownSum = sumOf(own);
  return (other) => {
    // All marks are of one length, so one that is found in a digest is one of its own.
    const shared = sumOf(own.filter((mark) => other.includes(mark)));
    return shared === 0 ? 0 : shared / (ownSum + sumOf(marksOf(other)) - shared);
  };
}

function marksOf(digest: string): readonly string[] {
  return digest === "" ? [] : digest.split(".");
}

function sumOf(marks: readonly string[]): number {
  let sum = 0;
  for (const mark of marks) sum += mark.startsWith(LIGHT) ? 0.5 : 1;
  return sum;
}
