import { defineError, type ErrorKind, GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { resolvePointer } from "../lib/json.ts";

export const DOCUMENT_BROKEN: ErrorKind = defineError("DOCUMENT_BROKEN", {
  spec: "CONFIGURATION_ERROR",
  exit: 2,
  description: "The document of an adapter cannot be used; other adapters are not affected.",
});

/** A document that describes an API. */
export interface OpenApiDocument {
  readonly root: JsonObject;
  /** Version of the format; 3.2 counts as 3.1. */
  readonly version: "2.0" | "3.0" | "3.1";
  /** Origin of the document, for messages. */
  readonly from: string;
  /** URL it was fetched from, the base of its relative URLs. */
  readonly url?: string | undefined;
}

/** One operation of the document. */
export interface FoundOperation {
  /** In upper case. */
  readonly method: string;
  readonly path: string;
  readonly item: JsonObject;
  readonly operation: JsonObject;
}

const METHODS = ["get", "put", "post", "delete", "options", "head", "patch", "trace"];
/** Limit of references that lead to references. */
const MAX_HOPS = 20;

/** Recognizes a document. Throws with the reason if the value is none. */
export function toDocument(value: unknown, from: string, url?: string): OpenApiDocument {
  const root = isJsonObject(value) ? value : {};
  const { openapi, swagger } = root;
  if (swagger === "2.0" || swagger === 2) return { root, version: "2.0", from, url };
  const declared = typeof openapi === "string" || typeof openapi === "number" ? String(openapi) : "";
  if (/^3(\.|$)/.test(declared)) {
    return { root, version: /^3(\.0|$)/.test(declared) ? "3.0" : "3.1", from, url };
  }
  const why =
    declared || swagger !== undefined
      ? "its version is neither OpenAPI 3 nor Swagger 2.0"
      : 'it has neither "openapi" nor "swagger"';
  throw new GatewayError(DOCUMENT_BROKEN, `${from} cannot be used as an OpenAPI document: ${why}.`);
}

/** Lists all operations in the order of the document. */
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
  return resolveRef(root, value)?.target;
}

/** Resolves a reference with the last one on the way; undefined if it leads nowhere or out of the document. */
export function resolveRef(
  root: JsonObject,
  value: unknown,
): { readonly target: unknown; readonly ref?: string } | undefined {
  let target = value;
  let ref: string | undefined;
  for (let hops = 0; isJsonObject(target) && typeof target["$ref"] === "string"; hops++) {
    if (hops === MAX_HOPS) return undefined;
    ref = target["$ref"];
    // A reference to the whole document is not supported.
    target = ref === "#" ? undefined : resolvePointer(root, ref);
    if (target === undefined) return undefined;
  }
  return ref === undefined ? { target } : { target, ref };
}

/** Returns the entries of an object; none for any other value. */
export function toEntries(value: unknown): [string, unknown][] {
  return isJsonObject(value) ? Object.entries(value) : [];
}

/** Returns the objects of a list, with references resolved; none for any other value. */
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

/** Finds the example of a parameter, a media type or a schema. */
export function findExample(root: JsonObject, given: unknown): { readonly example?: unknown } {
  const node = follow(root, given);
  if (!isJsonObject(node)) return {};
  const own = findValue(root, node["example"]);
  if (own !== undefined) return { example: own };
  const { examples } = node;
  // The list of a schema holds the values themselves.
  if (Array.isArray(examples)) return examples[0] === undefined ? {} : { example: examples[0] };
  for (const [, one] of toEntries(examples)) {
    const target = follow(root, one);
    if (isJsonObject(target) && target["value"] !== undefined) return { example: target["value"] };
  }
  return {};
}

/** Many documents refer to an example object where a value should be; they mean the value in it. */
function findValue(root: JsonObject, example: unknown): unknown {
  if (!isJsonObject(example) || typeof example["$ref"] !== "string") return example;
  const target = follow(root, example);
  return isJsonObject(target) && "value" in target ? target["value"] : target;
}
