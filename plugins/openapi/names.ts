import { sha256Hex } from "../lib/hash.ts";
import { countNames, toKebabCase } from "../lib/tool-names.ts";
import { type FoundOperation, toText } from "./document.ts";

const LONGEST = 100;

/**
 * Creates a name for each operation, in their order: from its `operationId`, else from method and path. If several would
 * have the same, each of them gets its method and path too, so that no name depends on the order.
 */
export function createToolNames(operations: readonly FoundOperation[]): string[] {
  const short = operations.map(({ operation, method, path }) => {
    const id = toText(operation["operationId"]);
    return limitLength((id && toKebabCase(id)) || toPathName(method, path));
  });
  const uses = countNames(short);
  const long = short.map((name, index) => {
    const { method, path } = operations[index] as FoundOperation;
    const place = toPathName(method, path);
    return (uses.get(name) ?? 0) < 2 || name === place ? name : limitLength(`${name}-${place}`);
  });
  const counts = countNames(long);
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

function toPathName(method: string, path: string): string {
  return limitLength(toKebabCase(`${method} ${path}`) || method.toLowerCase());
}

function limitLength(name: string): string {
  if (name.length <= LONGEST) return name;
  const hash = sha256Hex(name).slice(0, 8);
  return `${name.slice(0, LONGEST - 9).replace(/-$/, "")}-${hash}`;
}

/** Location of an argument in a request. */
export type ParameterLocation = "path" | "query" | "header" | "cookie" | "body";

/**
 * Creates a function that gives each argument a unique name that every model accepts. The first of a name keeps it; a
 * later one has its location as a prefix: `body_id`.
 */
export function createArgumentNames(): (wire: string, place: ParameterLocation) => string {
  const taken = new Set<string>();
  return (wire, place) => {
    const plain = toArgumentName(wire) || place;
    const first = taken.has(plain) ? toArgumentName(`${place}_${plain}`) : plain;
    let name = first;
    for (let number = 2; taken.has(name); number++) name = `${first}_${number}`;
    taken.add(name);
    return name;
  };
}

function toArgumentName(wire: string): string {
  const name = wire.slice(0, 200).replace(/[^A-Za-z0-9_.-]+/g, "_");
  const isAsWritten = name === wire && !wire.startsWith("__");
  return (isAsWritten ? name : name.replace(/^_+|_+$/g, "")).slice(0, 64);
}
