import { Buffer } from "node:buffer";
import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import type { Listing } from "../../../core/services/servers.ts";
import { DATA, NAMED } from "../../lib/schema/scan.ts";

/** The headers in which the arguments of tools are repeated, as the modern protocol wants over HTTP. */
export interface ParamHeaders {
  /**
   * Learns the headers of the listed tools, and rejects the tools that want arguments repeated in a way that cannot be
   * done. The protocol forbids calling these over HTTP: a proxy on the way would read something else than the server.
   */
  learn(listing: Listing): Listing;
  /** Returns the headers of a call; undefined for a tool that has none. */
  headersFor(tool: string, args: JsonObject): Record<string, string> | undefined;
}

/** An argument that is repeated in a header. */
interface Declaration {
  /** The properties that lead to the argument. */
  readonly path: readonly string[];
  /** The header without its prefix. */
  readonly header: string;
}

const KEYWORD = "x-mcp-header";
const PREFIX = "Mcp-Param-";
/** The characters that RFC 9110 allows in the name of a header. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);
/** Values that reach the server as they are: ASCII without spaces at the ends, which are cut off on the way. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/** Keeps the headers of the tools of one server. */
export function createParamHeaders(): ParamHeaders {
  const known = new Map<string, readonly Declaration[]>();
  return {
    learn(listing) {
      const rejected = [...listing.rejected];
      known.clear();
      const tools = listing.tools.filter(({ name, inputSchema }) => {
        const { declarations, fault } = scanParams(inputSchema);
        if (declarations.length > 0) known.set(name, declarations);
        if (fault !== undefined) rejected.push({ name, reason: fault });
        return fault === undefined;
      });
      return tools.length === listing.tools.length ? listing : { ...listing, tools, rejected };
    },
    headersFor(tool, args) {
      const declarations = known.get(tool);
      return declarations && toHeaders(declarations, args);
    },
  };
}

/** Finds the arguments that a schema wants repeated in headers, or why that cannot be done. */
export function scanParams(inputSchema: JsonObject): {
  readonly declarations: readonly Declaration[];
  readonly fault?: string | undefined;
} {
  const declarations: Declaration[] = [];
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

function first<T>(items: readonly T[], faultOf: (item: T) => string | undefined): string | undefined {
  for (const item of items) {
    const fault = faultOf(item);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** An argument that is absent, or no value that a header can hold, has no header. */
function toHeaders(declarations: readonly Declaration[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of declarations) {
    const text = toText(valueAt(args, path));
    if (text === undefined) continue;
    const isPlain = PLAIN.test(text) && !ENCODED.test(text);
    headers[`${PREFIX}${header}`] = isPlain ? text : `=?base64?${Buffer.from(text).toString("base64")}?=`;
  }
  return headers;
}

function valueAt(args: JsonObject, path: readonly string[]): unknown {
  let value: unknown = args;
  for (const key of path) value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  return value;
}

function toText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  // An integer beyond that was rounded; a fraction has one shortest form.
  return Number.isFinite(value) && !Number.isInteger(value) ? String(value) : undefined;
}
