import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { DATA, NAMED } from "./schema.ts";

/** An argument that is repeated in a header. */
export interface HeaderParam {
  /** The properties that lead to the argument. */
  readonly path: readonly string[];
  /** The header without its prefix. */
  readonly header: string;
}

const KEYWORD = "x-mcp-header";
/** Prefix of the headers. */
export const PARAM_HEADER_PREFIX = "Mcp-Param-";
/** The characters that RFC 9110 allows in the name of a header. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
/** Finds the arguments that a schema wants repeated in headers, or why that cannot be done. */
export function scanHeaderParams(inputSchema: unknown): {
  readonly declarations: readonly HeaderParam[];
  readonly fault?: string | undefined;
} {
  const declarations: HeaderParam[] = [];
  const names = new Set<string>();
  const fault = visit(inputSchema, []);
  return fault === undefined ? { declarations } : { declarations: [], fault };

  /** `path` is undefined where not only `properties` lead to this place: a call may then have several values for it. */
  function visit(schema: unknown, path: readonly string[] | undefined): string | undefined {
    if (Array.isArray(schema)) return first(schema, (item) => visit(item, undefined));
    if (!isJsonObject(schema)) return undefined;
    const found = Object.hasOwn(schema, KEYWORD) ? declare(schema, path) : undefined;
    if (found !== undefined) return found;
    return first(Object.entries(schema), ([key, inner]) => {
      if (DATA.has(key)) return undefined;
      if (!NAMED.has(key) || !isJsonObject(inner)) return visit(inner, undefined);
      const from = key === "properties" ? path : undefined;
      return first(Object.entries(inner), ([name, each]) => visit(each, from && [...from, name]));
    });
  }

  function declare(schema: JsonObject, path: readonly string[] | undefined): string | undefined {
    const header = schema[KEYWORD];
    if (!path || path.length === 0) return `its schema has ${KEYWORD} where no single argument is meant`;
    if (typeof header !== "string" || !TOKEN.test(header)) return `its ${KEYWORD} is not a name of a header`;
    if (!TYPES.has(schema["type"])) return `its ${KEYWORD} is at an argument that a header cannot hold`;
    const lower = header.toLowerCase();
    if (names.has(lower)) return `it has the same ${KEYWORD} twice`;
    names.add(lower);
    declarations.push({ path, header });
    return undefined;
  }
}

function first<T>(items: readonly T[], findFault: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = findFault(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** Returns the value of an argument; undefined if it is absent. */
export function getArgument(args: unknown, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}
