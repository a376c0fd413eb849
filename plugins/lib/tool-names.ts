import { createHash } from "node:crypto";

/** Something that a server has under a name of its own. */
export interface Named {
  readonly server: string;
  readonly name: string;
  /** Whether it is the gateway's own; then its name stays, whatever others are called. */
  readonly builtin?: boolean | undefined;
}

/** The longest name that every client takes. */
export const LONGEST_NAME = 64;
const DIGITS = 8;
const MAX_DIGITS = 56;
/** What MCP wants the names of tools to be made of. */
const WELL_FORMED = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * A name for each of what several servers have, in the same order. Each keeps its own where nobody else has it, and is
 * called `server__name` otherwise. What is too long, or holds what names must not hold, or is still not the only one,
 * ends in a hash of both, so that no name depends on which came first.
 */
export function shownNames(items: readonly Named[]): string[] {
  const uses = counted(items.map(({ name }) => name));
  const wanted = items.map(({ server, name, builtin }) =>
    builtin || uses.get(name) === 1 ? name : `${server}__${name}`,
  );
  const own = new Set(wanted.filter((name, index) => name === items[index]?.name));
  const wantedBy = counted(wanted);
  const names = wanted.map((name, index) => {
    const { builtin, name: given } = items[index] as Named;
    if (builtin) return name;
    const isOnlyOne = name === given || (wantedBy.get(name) === 1 && !own.has(name));
    return isOnlyOne && WELL_FORMED.test(name) ? name : undefined;
  });
  const taken = new Set(names);
  // In the order of what they are made of, and not in that of the list, for the one case in which it matters.
  const left = [...names.keys()]
    .filter((index) => names[index] === undefined)
    .sort((a, b) => (keyOf(items[a]) < keyOf(items[b]) ? -1 : 1));
  for (const index of left) {
    const name = hashed(wanted[index] as string, keyOf(items[index]), taken);
    names[index] = name;
    taken.add(name);
  }
  return names as string[];
}

/** A name that is not taken: the beginning of one, and a hash of what it stands for. */
function hashed(name: string, key: string, taken: ReadonlySet<string | undefined>): string {
  const hash = createHash("sha256").update(key).digest("hex");
  for (let digits = DIGITS; ; digits += DIGITS) {
    const short = `${cut(name, LONGEST_NAME - digits - 1) || "x"}-${hash.slice(0, digits)}`;
    if (!taken.has(short) || digits >= MAX_DIGITS) return short;
  }
}

/** Without what names must not hold, and without what joins words at its end. */
function cut(name: string, length: number): string {
  const plain = name.slice(0, 4 * LONGEST_NAME).replace(/[^A-Za-z0-9_.-]+/g, "_");
  return plain.slice(0, length).replace(/[-_.]+$/, "");
}

function keyOf(item: Named | undefined): string {
  return `${item?.server}:${item?.name}`;
}

function counted(names: readonly string[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const name of names) uses.set(name, (uses.get(name) ?? 0) + 1);
  return uses;
}
