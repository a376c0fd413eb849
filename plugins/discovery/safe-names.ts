import { sha256Hex } from "../lib/hash.ts";

const MAX_NAME = 60;
/** A name that ends like this gets a hash too: no name can be chosen that is the safe one of another. */
const LIKE_HASHED = /_[0-9a-f]{12}$/;

/**
 * Reduces a name to letters, digits, `_` and `-`. A short hash of the whole name follows where that changes it, so that
 * no two names become one: `a/b` and `a_b` would else share a file, or the id of a capability.
 */
export function toSafeName(name: string): string {
  const safe = reduceName(name);
  if (safe === name && name !== "" && !LIKE_HASHED.test(name)) return name;
  return `${safe}_${sha256Hex(name).slice(0, 12)}`;
}

/**
 * Reduces a name to letters, digits, `_` and `-`, and adds a hash only where another of the known names would become the
 * same, or where the names are not known.
 */
export function toReadableName(name: string, known: Iterable<string> = []): string {
  const safe = reduceName(name);
  const all = new Set(known);
  const isTaken = !all.has(name) || [...all].some((other) => other !== name && reduceName(other) === safe);
  return isTaken || safe === "" || LIKE_HASHED.test(safe) ? toSafeName(name) : safe;
}

const reduceName = (name: string): string => name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, MAX_NAME);
