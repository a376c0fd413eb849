import { Buffer } from "node:buffer";
import type { JsonObject } from "../../../core/mod.ts";
import type { Listing } from "../../../core/services/servers.ts";
import {
  getArgument,
  type HeaderParam,
  PARAM_HEADER_PREFIX,
  scanHeaderParams,
} from "../../lib/schema/header-params.ts";

/** The headers in which the arguments of tools are repeated, as the modern protocol wants over HTTP. */
export interface ParamHeaders {
  /**
   * Learns the headers of the listed tools, and rejects the tools that want arguments repeated in a way that cannot be
   * done. The protocol forbids calling these over HTTP: a proxy on the way would read something else than the server.
   */
  learn(listing: Listing): Listing;
  /** Returns the headers of a call; undefined for a tool that has none. */
  createHeaders(tool: string, args: JsonObject): Record<string, string> | undefined;
}

/** Values that reach the server as they are: ASCII without spaces at the ends, which are cut off on the way. */
const PLAIN = /^[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?$/;
const ENCODED = /^=\?base64\?.*\?=$/;

/** Keeps the headers of the tools of one server. */
export function createParamHeaders(): ParamHeaders {
  const known = new Map<string, readonly HeaderParam[]>();
  return {
    learn(listing) {
      const rejected = [...listing.rejected];
      known.clear();
      const tools = listing.tools.filter(({ name, inputSchema }) => {
        const { declarations, fault } = scanHeaderParams(inputSchema);
        if (declarations.length > 0) known.set(name, declarations);
        if (fault !== undefined) rejected.push({ name, reason: fault });
        return fault === undefined;
      });
      return tools.length === listing.tools.length ? listing : { ...listing, tools, rejected };
    },
    createHeaders(tool, args) {
      const declarations = known.get(tool);
      return declarations && toHeaders(declarations, args);
    },
  };
}

/** An argument that is absent, or no value that a header can hold, has no header. */
function toHeaders(declarations: readonly HeaderParam[], args: JsonObject): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const { path, header } of declarations) {
    const text = toHeaderValue(getArgument(args, path));
    if (text === undefined) continue;
    const isPlain = PLAIN.test(text) && !ENCODED.test(text);
    headers[`${PARAM_HEADER_PREFIX}${header}`] = isPlain
      ? text
      : `=?base64?${Buffer.from(text).toString("base64")}?=`;
  }
  return headers;
}

function toHeaderValue(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  // An integer beyond that was rounded; a fraction has one shortest form.
  return Number.isFinite(value) && !Number.isInteger(value) ? String(value) : undefined;
}
