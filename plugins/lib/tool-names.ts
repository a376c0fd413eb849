import { sha256Hex } from "./hash.ts";

/** Item that a server has under a name of its own. */
export interface Named {
  readonly server: string;
  readonly name: string;
  /** Whether the item is the gateway's own; then its name never changes. */
  readonly builtin?: boolean | undefined;
}

/** Longest name that every client accepts. */
const LONGEST_NAME = 64;
const DIGITS = 8;
const MAX_DIGITS = 56;
/** Names of tools that MCP allows. */
const WELL_FORMED = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Assigns unique names to items of several servers, in their order. An item keeps its own name if no other has it, and is
 * called `server__name` otherwise. A name that is too long, malformed or still not unique ends in a hash of both, so that
 * no name depends on the order.
 *
 * Names that begin with `server__` are reserved for that server, whether or not it has any items: a server that offers
 * `good__send_mail` would otherwise get the calls that are meant for the server `good`.
 *
 * @param servers Names of further servers, such as those that have not been listed yet.
 */
export function assignNames(items: readonly Named[], servers: Iterable<string> = []): string[] {
  const reserved = new Set(servers);
  for (const { server } of items) reserved.add(server);
  const spaces = new Set([...reserved].map((server) => server.toLowerCase()));
  const uses = countNames(items.map(({ name }) => name));
  const wanted = items.map(({ server, name, builtin }) =>
    builtin || (uses.get(name) === 1 && isFree(name, server, spaces)) ? name : `${server}__${name}`,
  );
  const own = new Set(wanted.filter((name, index) => name === items[index]?.name));
  const wantedBy = countNames(wanted);
  const names = wanted.map((name, index) => {
    const { builtin, name: given, server } = items[index] as Named;
    if (builtin) return name;
    const isOnlyOne = name === given || (wantedBy.get(name) === 1 && !own.has(name));
    return isOnlyOne && WELL_FORMED.test(name) && isFree(name, server, spaces) ? name : undefined;
  });
  const taken = new Set(names);
  // In the order of what they are made of, and not in that of the list, for the one case in which it matters.
  const left = [...names.keys()]
    .filter((index) => names[index] === undefined)
    .sort((a, b) => (toKey(items[a]) < toKey(items[b]) ? -1 : 1));
  for (const index of left) {
    const name = hashName(wanted[index] as string, toKey(items[index]), taken);
    names[index] = name;
    taken.add(name);
  }
  return names as string[];
}

/** Whether a name begins with the name of no other server, or with that of its own, if it begins with several. */
function isFree(name: string, server: string, spaces: ReadonlySet<string>): boolean {
  const lower = name.toLowerCase();
  for (let at = lower.lastIndexOf("__"); at >= 0; at = at > 0 ? lower.lastIndexOf("__", at - 1) : -1) {
    // The longest server counts: "a__b__c" is that of "a__b", and not of "a".
    if (spaces.has(lower.slice(0, at))) return lower.slice(0, at) === server.toLowerCase();
  }
  return true;
}

/** Creates a free name: the beginning of the wanted one, and a hash of the item. */
function hashName(name: string, key: string, taken: ReadonlySet<string | undefined>): string {
  const hash = sha256Hex(key);
  for (let digits = DIGITS; ; digits += DIGITS) {
    const short = `${truncateName(name, LONGEST_NAME - digits - 1) || "x"}-${hash.slice(0, digits)}`;
    if (!taken.has(short) || digits >= MAX_DIGITS) return short;
  }
}

/** Removes characters that names must not hold, and separators at the end. */
function truncateName(name: string, length: number): string {
  const plain = name.slice(0, 4 * LONGEST_NAME).replace(/[^A-Za-z0-9_.-]+/g, "_");
  return plain.slice(0, length).replace(/[-_.]+$/, "");
}

function toKey(item: Named | undefined): string {
  return `${item?.server}:${item?.name}`;
}

/** Counts how often each name occurs. */
export function countNames(names: readonly string[]): Map<string, number> {
  const uses = new Map<string, number>();
  for (const name of names) uses.set(name, (uses.get(name) ?? 0) + 1);
  return uses;
}

/** `PostPaymentIntents` → `post-payment-intents`. Characters that no name can hold are left out. */
export function toKebabCase(given: string, maxLength = 400): string {
  return given
    .slice(0, maxLength)
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}
