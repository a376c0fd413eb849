import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  type FoundOperation,
  findExample,
  listObjects,
  type OpenApiDocument,
  toEntries,
  toText,
} from "./document.ts";
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
  /** Whether each part has a name of its own. */
  readonly explode: boolean;
  /** Whether reserved characters of a URL are not escaped. */
  readonly allowReserved: boolean;
  /** Whether it is always written as JSON. */
  readonly json: boolean;
}

/** A parameter of an operation, independent of the version of the document. */
export interface OperationParameter extends ParameterEncoding {
  readonly name: string;
  readonly place: Exclude<ParameterLocation, "body">;
  readonly required: boolean;
  /** As in the document. */
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

/** Headers that the document declares elsewhere, and headers of the connection. */
const RESERVED_HEADERS = new Set(
  "accept authorization connection content-length content-type expect host keep-alive proxy-authorization te trailer transfer-encoding upgrade".split(
    " ",
  ),
);
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Lists the names in braces of a path. */
function findPathNames(path: string): string[] {
  return [...path.matchAll(/\{([^{}]+)\}/g)].map((match) => match[1] as string);
}

/** Lists the parameter objects of an operation, `body` and `formData` of Swagger 2.0 included. */
export function rawParameters({ root }: OpenApiDocument, { item, operation }: FoundOperation): JsonObject[] {
  const chosen = new Map<string, JsonObject>();
  // Parameters of the operation replace those of its path; of two with the same name, the first counts.
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

/** Lists the parameters outside of the body: those of the path first, then the others in the order of the document. */
export function listParameters(
  document: OpenApiDocument,
  found: FoundOperation,
  raw: readonly JsonObject[],
): OperationParameter[] {
  const inPath = new Set(findPathNames(found.path));
  const all = raw.map((given) => toParameter(document, given)).filter((one) => one !== undefined);
  const declared = new Set(all.filter(({ place }) => place === "path").map(({ name }) => name));
  const undeclared = [...inPath].filter((name) => !declared.has(name)).map(createPathParameter);
  const path = all.filter(({ place, name }) => place === "path" && inPath.has(name));
  const order = ["query", "header", "cookie"];
  const others = all
    .filter(({ place }) => place !== "path")
    .toSorted((a, b) => order.indexOf(a.place) - order.indexOf(b.place));
  return [...path, ...undeclared, ...others];
}

function createPathParameter(name: string): OperationParameter {
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

function toParameter({ root, version }: OpenApiDocument, given: JsonObject): OperationParameter | undefined {
  const { in: place, name } = given;
  if (typeof name !== "string" || name === "") return undefined;
  if (place !== "path" && place !== "query" && place !== "header" && place !== "cookie") return undefined;
  if (place === "header" && (RESERVED_HEADERS.has(name.toLowerCase()) || !TOKEN.test(name))) return undefined;
  if (place === "cookie" && !TOKEN.test(name)) return undefined;
  const [, media] = toEntries(given["content"])[0] ?? [];
  const schema =
    version === "2.0" ? toLegacySchema(given) : isJsonObject(media) ? media["schema"] : given["schema"];
  const resolved = isJsonObject(schema) ? schema : {};
  const encoding = version === "2.0" ? toLegacyEncoding(given, place) : toEncoding(given, place);
  return {
    name,
    place,
    required: place === "path" || given["required"] === true,
    schema: resolved,
    ...(toText(given["description"]) !== undefined && { description: toText(given["description"]) }),
    ...findExample(root, given),
    ...encoding,
    json: isJsonObject(media),
  };
}

/** Reads the encoding of a parameter or a form field. */
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

/** Reads the schema of a Swagger 2.0 parameter, which is the parameter itself. */
export function toLegacySchema(given: JsonObject): JsonObject {
  const { name: _, in: __, required: ___, description: ____, collectionFormat: _____, ...schema } = given;
  return schema;
}
