import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { type FoundOperation, listObjects, type OpenApiDocument, toEntries, toText } from "./document.ts";
import { findExample } from "./example.ts";
import type { ParameterLocation } from "./names.ts";

/** Style of a list or an object in a request. */
export type Style =
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "tabDelimited"
  | "deepObject";

/** Encoding of a parameter. */
export interface ParameterEncoding {
  readonly style: Style;
  /** Whether each part of it is written with a name of its own. */
  readonly explode: boolean;
  /** Whether characters that mean something in an address are written as they are. */
  readonly allowReserved: boolean;
  /** Whether it is written as JSON, whatever it is. */
  readonly json: boolean;
}

/** A parameter of an operation, independent of the version of the document. */
export interface OperationParameter extends ParameterEncoding {
  readonly name: string;
  readonly place: Exclude<ParameterLocation, "body">;
  readonly required: boolean;
  /** In the words of the document. */
  readonly schema: JsonObject;
  readonly description?: string | undefined;
  readonly example?: unknown;
}

const STYLES: Readonly<Record<OperationParameter["place"], readonly Style[]>> = {
  path: ["simple", "label", "matrix"],
  query: ["form", "spaceDelimited", "pipeDelimited", "deepObject", "tabDelimited"],
  header: ["simple"],
  cookie: ["form"],
};
const COLLECTIONS: Readonly<Record<string, Style>> = {
  ssv: "spaceDelimited",
  pipes: "pipeDelimited",
  tsv: "tabDelimited",
};

/** Headers that the document says elsewhere, and headers that are the connection's own. */
const RESERVED_HEADERS = new Set([
  "accept",
  "authorization",
  "connection",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "proxy-authorization",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** The names in braces of a path. */
export function namesInPath(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] as string);
}

/** Reads a parameter object, `body` and `formData` of Swagger 2.0 included. */
export function rawParameters({ root }: OpenApiDocument, { item, operation }: FoundOperation): JsonObject[] {
  const chosen = new Map<string, JsonObject>();
  // Those of the operation replace those of its path; of one that is declared twice, the first counts.
  for (const list of [operation["parameters"], item["parameters"]]) {
    for (const parameter of listObjects(root, list)) {
      const { in: place, name } = parameter;
      if (typeof place !== "string" || typeof name !== "string") continue;
      const key = `${place} ${name}`;
      if (!chosen.has(key)) chosen.set(key, parameter);
    }
  }
  return [...chosen.values()];
}

/** The parameters that are not part of the body: those of the path first, then the others in the document's order. */
export function listParameters(
  document: OpenApiDocument,
  found: FoundOperation,
  raw: readonly JsonObject[],
): OperationParameter[] {
  const inPath = new Set(namesInPath(found.path));
  const all = raw.map((given) => read(document, given)).filter((one) => one !== undefined);
  const declared = new Set(all.filter(({ place }) => place === "path").map(({ name }) => name));
  const undeclared = [...inPath].filter((name) => !declared.has(name)).map(plainPath);
  const path = all.filter(({ place, name }) => place === "path" && inPath.has(name));
  const order = ["query", "header", "cookie"];
  const others = all
    .filter(({ place }) => place !== "path")
    .toSorted((a, b) => order.indexOf(a.place) - order.indexOf(b.place));
  return [...path, ...undeclared, ...others];
}

function plainPath(name: string): OperationParameter {
  const schema = { type: "string" };
  return {
    name,
    place: "path",
    required: true,
    schema,
    style: "simple",
    explode: false,
    allowReserved: false,
    json: false,
  };
}

function read({ root, version }: OpenApiDocument, given: JsonObject): OperationParameter | undefined {
  const { in: place, name } = given;
  if (typeof name !== "string" || name === "") return undefined;
  if (place !== "path" && place !== "query" && place !== "header" && place !== "cookie") return undefined;
  if (place === "header" && (RESERVED_HEADERS.has(name.toLowerCase()) || !TOKEN.test(name))) return undefined;
  if (place === "cookie" && !TOKEN.test(name)) return undefined;
  const [, media] = toEntries(given["content"])[0] ?? [];
  const schema =
    version === "2.0" ? toLegacySchema(given) : isJsonObject(media) ? media["schema"] : given["schema"];
  const resolved = isJsonObject(schema) ? schema : {};
  const writing = version === "2.0" ? toLegacyEncoding(given, place) : toEncoding(given, place);
  return {
    name,
    place,
    required: place === "path" || given["required"] === true,
    schema: resolved,
    ...(toText(given["description"]) !== undefined && { description: toText(given["description"]) }),
    ...findExample(root, given),
    ...writing,
    json: isJsonObject(media),
  };
}

/** Reads how a value is written from a parameter or an encoding. */
export function toEncoding(given: JsonObject, place: OperationParameter["place"]): ParameterEncoding {
  const allowed = STYLES[place];
  const style = allowed.find((one) => one === given["style"]) ?? (allowed[0] as Style);
  const explode = typeof given["explode"] === "boolean" ? given["explode"] : style === "form";
  return { style, explode, allowReserved: given["allowReserved"] === true, json: false };
}

/** Reads the encoding of a Swagger 2.0 parameter. */
export function toLegacyEncoding(given: JsonObject, place: OperationParameter["place"]): ParameterEncoding {
  const format = toText(given["collectionFormat"]) ?? "csv";
  const isQuery = place === "query" || place === "cookie";
  const style = isQuery ? (COLLECTIONS[format] ?? "form") : "simple";
  return { style, explode: format === "multi", allowReserved: false, json: false };
}

/** In Swagger 2.0 a parameter is its own schema. */
export function toLegacySchema(given: JsonObject): JsonObject {
  const { name: _, in: __, required: ___, description: ____, collectionFormat: _____, ...schema } = given;
  return schema;
}
