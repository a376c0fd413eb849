import { createHash } from "node:crypto";
import { type FoundOperation, toText } from "./document.ts";

const LONGEST = 100;

/** `PostPaymentIntents` → `post-payment-intents`. What no name can hold is left out. */
export function kebab(text: string): string {
  return text
    .slice(0, 400)
    .normalize("NFKD")
    .replace(/[\u0300-\u036f]/g, "")
    .replace(/([a-z0-9])([A-Z])/g, "$1-$2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1-$2")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
}

/**
 * A name for each operation, in their order: from its `operationId`, else from method and path. Where several
 * would have the same, each of them gets its method and path too, so that no name depends on the order.
 */
export function toolNames(operations: readonly FoundOperation[]): string[] {
  const short = operations.map(({ operation, method, path }) => {
    const id = toText(operation["operationId"]);
    return bounded((id && kebab(id)) || placeName(method, path));
  });
  const uses = counted(short);
  const long = short.map((name, index) => {
    const { method, path } = operations[index] as FoundOperation;
    const place = placeName(method, path);
    return (uses.get(name) ?? 0) < 2 || name === place ? name : bounded(`${name}-${place}`);
  });
  const counts = counted(long);
  const taken = new Set(long.filter((name) => counts.get(name) === 1));
  const numbers = new Map<string, number>();
  return long.map((name) => {
    if (counts.get(name) === 1) return name;
    for (let number = (numbers.get(name) ?? 0) + 1; ; number++) {
      const unique = number === 1 ? name : `${name}-${number}`;
      if (taken.has(unique)) continue;
      numbers.set(name, number);
      taken.add(unique);
      return unique;
    }
  });
}

function placeName(method: string, path: string): string {
  return bounded(kebab(`${method} ${path}`) || method.toLowerCase());
}

function bounded(name: string): string {
  if (name.length <= LONGEST) return name;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${name.slice(0, LONGEST - 9).replace(/-$/, "")}-${hash}`;
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** Location of an argument in a request. */
export type ParameterLocation = "path" | "query" | "header" | "cookie" | "body";

/**
 * Names arguments so that no two are the same, and so that every model may say them. The first of a name keeps
 * it; a later one says where it goes: `body_id`.
 */
export function argumentNames(): (wire: string, place: ParameterLocation) => string {
  const taken = new Set<string>();
  return (wire, place) => {
    const plain = argumentName(wire) || place;
    const first = taken.has(plain) ? argumentName(`${place}_${plain}`) : plain;
    let name = first;
    for (let number = 2; taken.has(name); number++) name = `${first}_${number}`;
    taken.add(name);
    return name;
  };
}

function argumentName(wire: string): string {
  const name = wire.slice(0, 200).replace(/[^A-Za-z0-9_.-]+/g, "_");
  const isAsWritten = name === wire && !wire.startsWith("__");
  return (isAsWritten ? name : name.replace(/^_+|_+$/g, "")).slice(0, 64);
}
