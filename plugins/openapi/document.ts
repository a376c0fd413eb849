import { defineError, type ErrorKind, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { pointed } from "../lib/json.ts";

/** The document of an adapter cannot be used; the other adapters go on. */
export const DOCUMENT_BROKEN: ErrorKind = defineError("DOCUMENT_BROKEN", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
});

/** A document that describes an API. */
export interface OpenApiDocument {
  readonly root: JsonObject;
  /** Which words it uses; 3.2 uses those of 3.1. */
  readonly version: "2.0" | "3.0" | "3.1";
  /** Origin of the document, for messages. */
  readonly from: string;
  /** The address it was fetched from, which its relative addresses begin at. */
  readonly url?: string | undefined;
}

/** One operation as the document has it. */
export interface FoundOperation {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/** References that lead to references are followed so many times. */
const MAX_HOPS = 20;

/** Takes parsed data for a document, or says why it is none. */
export function toDocument(value: unknown, from: string, url?: string): OpenApiDocument {
  const root = isJsonObject(value) ? value : {};
  const { openapi, swagger } = root;
  if (swagger === "2.0" || swagger === 2) return { root, version: "2.0", from, url };
  const spoken = typeof openapi === "string" || typeof openapi === "number" ? String(openapi) : "";
  if (/^3(\.|$)/.test(spoken)) {
    return { root, version: /^3(\.0|$)/.test(spoken) ? "3.0" : "3.1", from, url };
  }
  const why =
    spoken || swagger !== undefined
      ? "its version is neither OpenAPI 3 nor Swagger 2.0"
      : 'it says neither "openapi" nor "swagger"';
  throw new GatewayError(DOCUMENT_BROKEN, `${from}: it cannot be used as an OpenAPI document: ${why}.`);
}

/** Every operation, in the order of the document. */
export function listOperations({ root }: OpenApiDocument): FoundOperation[] {
  const found: FoundOperation[] = [];
  for (const [path, given] of toEntries(root["paths"])) {
    const item = follow(root, given);
    if (!isJsonObject(item) || path.startsWith("x-")) continue;
    for (const method of METHODS) {
      const operation = item[method];
      if (!isJsonObject(operation)) continue;
      found.push({
        method: method.toUpperCase(),
        path: path.startsWith("/") ? path : `/${path}`,
        item,
        operation,
      });
    }
  }
  return found;
}

/** Resolves a reference within the document; returns other values unchanged. */
export function follow(root: JsonObject, value: unknown): unknown {
  return followed(root, value)?.target;
}

/** Resolves a reference with the last one on the way; undefined if it leads nowhere or out of the document. */
export function followed(
  root: JsonObject,
  value: unknown,
): { readonly target: unknown; readonly ref?: string } | undefined {
  let target = value;
  let ref: string | undefined;
  for (let hops = 0; isJsonObject(target) && typeof target["$ref"] === "string"; hops++) {
    if (hops === MAX_HOPS) return undefined;
    ref = target["$ref"];
    // One of the whole document is no part of it.
    target = ref === "#" ? undefined : pointed(root, ref);
    if (target === undefined) return undefined;
  }
  return ref === undefined ? { target } : { target, ref };
}

/** The entries of what should be an object. */
export function toEntries(value: unknown): [string, unknown][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

/** The objects in what should be a list of them, references followed. */
export function listObjects(root: JsonObject, list: unknown): JsonObject[] {
  return Array.isArray(list) ? list.map((one) => follow(root, one)).filter(isJsonObject) : [];
}

/** Returns a string that is not empty. */
export function toText(value: unknown): string | undefined {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : undefined;
}

/** Returns a string without markup and line breaks, cut to a length. */
export function plainText(value: unknown, longest: number): string | undefined {
  const text = toText(value)?.slice(0, longest * 4);
  if (text === undefined) return undefined;
  const plain = text
    .replace(/<\/?[a-zA-Z][^<>]{0,200}>/g, " ")
    .replace(/\s+/g, " ")
    .trim();
  if (plain === "") return undefined;
  return plain.length <= longest ? plain : `${plain.slice(0, longest - 1).trimEnd()}…`;
}
