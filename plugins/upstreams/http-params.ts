import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { DATA, NAMED } from "../_schema-scan.ts";
import type { Listing } from "./upstream.ts";

const WORD = "x-mcp-header";
/** What RFC 9110 allows as the name of a header. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
const TYPES: ReadonlySet<unknown> = new Set(["string", "integer", "boolean"]);

/**
 * Takes out the tools that want arguments repeated in headers in a way that cannot be done. The protocol forbids to
 * call them over HTTP: whoever stands between us and the server would read something else than the server.
 */
export function withUsableParams(listing: Listing): Listing {
  const reasons = new Map(listing.tools.map((tool) => [tool, faultOfParams(tool.inputSchema)]));
  const rejected = listing.tools.flatMap((tool) => {
    const reason = reasons.get(tool);
    return reason === undefined ? [] : [{ name: tool.name, reason }];
  });
  if (rejected.length === 0) return listing;
  return {
    ...listing,
    tools: listing.tools.filter((tool) => reasons.get(tool) === undefined),
    rejected: [...listing.rejected, ...rejected],
  };
}

/** Why the arguments of a tool cannot be repeated in headers as its schema wants; nothing if they can. */
export function faultOfParams(inputSchema: JsonObject): string | undefined {
  const names = new Set<string>();
  return visit(inputSchema, false, true);

  /** `reachable` says that only `properties` lead to this place, so that every call has at most one value for it. */
  function visit(schema: unknown, isProperty: boolean, reachable: boolean): string | undefined {
    if (Array.isArray(schema)) return first(schema, (item) => visit(item, false, false));
    if (!isJsonObject(schema)) return undefined;
    const fault = Object.hasOwn(schema, WORD) ? faultOfName(schema, isProperty && reachable) : undefined;
    if (fault !== undefined) return fault;
    return first(Object.entries(schema), ([key, inner]) => {
      if (DATA.has(key)) return undefined;
      if (!NAMED.has(key) || !isJsonObject(inner)) return visit(inner, false, false);
      const isPlain = key === "properties";
      return first(Object.values(inner), (each) => visit(each, isPlain, isPlain && reachable));
    });
  }

  function faultOfName(schema: JsonObject, allowed: boolean): string | undefined {
    const name = schema[WORD];
    if (!allowed) return `its schema has ${WORD} where no single argument is meant`;
    if (typeof name !== "string" || !TOKEN.test(name)) return `its ${WORD} is not a name of a header`;
    if (!TYPES.has(schema["type"])) return `its ${WORD} is at an argument that a header cannot hold`;
    const lower = name.toLowerCase();
    if (names.has(lower)) return `it has the same ${WORD} twice`;
    names.add(lower);
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
