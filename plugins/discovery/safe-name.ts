import { createHash } from "node:crypto";

const LONGEST = 60;
/** A name that ends like this by itself gets a hash too: nobody can choose a name that is another's safe one. */
const LIKE_HASHED = /_[0-9a-f]{12}$/;

/**
 * A name in letters, digits, `_` and `-` alone. Where that changes it, a short hash of the whole name follows, so
 * that no two names become one: `a/b` and `a_b` would else share a file, or the id of a capability.
 */
export function safeName(name: string): string {
  const safe = name.replace(/[^A-Za-z0-9_-]+/g, "_").slice(0, LONGEST);
  if (safe === name && name !== "" && !LIKE_HASHED.test(name)) return name;
  return `${safe}_${createHash("sha256").update(name).digest("hex").slice(0, 12)}`;
}
