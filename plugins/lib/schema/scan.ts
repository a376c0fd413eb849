import {
  defineError,
  type ErrorKind,
  GatewayError,
  isJsonObject,
  type JsonObject,
} from "../../../core/mod.ts";

/** Schemas come from strangers: past any of these one is refused rather than compiled. */
const MAX_NODES = 2_000;
const MAX_DEPTH = 32;
const MAX_BYTES = 256 * 1_024;

/** Keywords whose value is data and not a schema, which must stay as it is. */
export const DATA: ReadonlySet<string> = new Set([
  "const",
  "default",
  "enum",
  "example",
  "examples",
  "required",
  "dependentRequired",
]);
/** Keywords whose keys are names and not keywords. */
export const NAMED: ReadonlySet<string> = new Set([
  "properties",
  "patternProperties",
  "$defs",
  "definitions",
  "dependentSchemas",
  "dependencies",
]);
const DIALECT =
  /^https?:\/\/json-schema\.org\/(draft-0[4-7]\/(hyper-)?schema|draft\/(2019-09|2020-12)\/schema|schema)#?$/;
/** A place to begin where a schema does not say where it is. */
const NOWHERE = "https://schema.invalid/";

/** What is in a schema that has to be known before it is copied. */
export interface SchemaScan {
  /** The regular expressions. */
  readonly patterns: ReadonlySet<string>;
}

/** Looks through a schema, and refuses one that is too much or refers to another document. */
export function scanSchema(schema: JsonObject): SchemaScan {
  const patterns = new Set<string>();
  const ids = new Set<string>();
  const references: string[] = [];
  let nodes = 0;
  let bytes = 0;
  visit(schema, 0, false);
  const base = urlOf(schema["$id"], NOWHERE) ?? NOWHERE;
  const own = new Set([base, ...[...ids].map((id) => urlOf(id, base))]);
  for (const reference of references) {
    if (!reference.startsWith("#") && !own.has(urlOf(reference, base))) throw external();
  }
  return { patterns };

  function visit(value: unknown, depth: number, named: boolean): void {
    if (++nodes > MAX_NODES || depth > MAX_DEPTH) throw tooComplex();
    weigh(value);
    if (Array.isArray(value)) for (const item of value) visit(item, depth + 1, false);
    if (!isJsonObject(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      weigh(key);
      if (!named && DATA.has(key)) weighData(inner, depth);
      else {
        if (!named) keyword(key, inner);
        visit(inner, depth + 1, !named && NAMED.has(key));
      }
    }
  }

  function keyword(key: string, value: unknown): void {
    if (key === "patternProperties" && isJsonObject(value))
      for (const each of Object.keys(value)) patterns.add(each);
    else if (typeof value !== "string") return;
    else if (key === "pattern") patterns.add(value);
    else if (key === "$id" || key === "id") ids.add(value);
    else if (key === "$ref" || key === "$dynamicRef") references.push(value);
    else if (key === "$schema" && !DIALECT.test(value)) throw external();
  }

  function weigh(value: unknown): void {
    bytes += typeof value === "string" ? value.length : 1;
    if (bytes > MAX_BYTES) throw tooComplex();
  }

  function weighData(value: unknown, depth: number): void {
    if (depth > 2 * MAX_DEPTH) throw tooComplex();
    weigh(value);
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      weigh(key);
      weighData(inner, depth + 1);
    }
  }
}

/** Without its fragment, which is a place inside. */
function urlOf(reference: unknown, base: string): string | undefined {
  try {
    const url = new URL(String(reference ?? ""), base);
    url.hash = "";
    return url.href;
  } catch {
    return undefined;
  }
}

function external(): GatewayError {
  return new GatewayError(SCHEMA_UNSUPPORTED, "It refers to another document, and none is ever fetched.");
}

/** Says that there is too much to check. */
export function tooComplex(): GatewayError {
  return new GatewayError(SCHEMA_TOO_COMPLEX, "It is too complex.");
}

/** The input schema of a tool is too large, or takes too long to check against. */
export const SCHEMA_TOO_COMPLEX: ErrorKind = defineError("SCHEMA_TOO_COMPLEX", { exit: 2 });
/** The input schema of a tool says something that is never looked at here: another document, or a pattern that can stall. */
export const SCHEMA_UNSUPPORTED: ErrorKind = defineError("SCHEMA_UNSUPPORTED", { exit: 2 });
