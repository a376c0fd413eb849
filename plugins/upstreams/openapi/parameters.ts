import { isJsonObject, type JsonObject } from "../../../core/mod.ts";
import { entriesOf, type FoundOperation, type OpenApiDocument, objectsIn, textOf } from "./document.ts";
import { exampleIn } from "./example.ts";
import type { Place } from "./names.ts";

/** How a value that is not a single one is written into a request. */
export type Style =
  | "simple"
  | "label"
  | "matrix"
  | "form"
  | "spaceDelimited"
  | "pipeDelimited"
  | "tabDelimited"
  | "deepObject";

/** How one value is written. */
export interface Writing {
  readonly style: Style;
  /** Whether each part of it is written with a name of its own. */
  readonly explode: boolean;
  /** Whether characters that mean something in an address are written as they are. */
  readonly allowReserved: boolean;
  /** Whether it is written as JSON, whatever it is. */
  readonly json: boolean;
}

/** A parameter of an operation, in the same words whatever version the document is of. */
export interface Parameter extends Writing {
  readonly name: string;
  readonly place: Exclude<Place, "body">;
  readonly required: boolean;
  /** In the words of the document. */
  readonly schema: JsonObject;
  readonly description?: string | undefined;
  readonly example?: unknown;
}

const STYLES: Readonly<Record<Parameter["place"], readonly Style[]>> = {
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

/** What a parameter object of a document is, `body` and `formData` of Swagger 2.0 included. */
export function rawParameters({ root }: OpenApiDocument, { item, operation }: FoundOperation): JsonObject[] {
  const chosen = new Map<string, JsonObject>();
  // Those of the operation replace those of its path; of one that is declared twice, the first counts.
  for (const list of [operation["parameters"], item["parameters"]]) {
    for (const parameter of objectsIn(root, list)) {
      const { in: place, name } = parameter;
      if (typeof place !== "string" || typeof name !== "string") continue;
      const key = `${place} ${name}`;
      if (!chosen.has(key)) chosen.set(key, parameter);
    }
  }
  return [...chosen.values()];
}

/** The parameters that are not part of the body: those of the path first, then the others in the document's order. */
export function parametersOf(
  document: OpenApiDocument,
  found: FoundOperation,
  raw: readonly JsonObject[],
): Parameter[] {
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

function plainPath(name: string): Parameter {
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

function read({ root, version }: OpenApiDocument, given: JsonObject): Parameter | undefined {
  const { in: place, name } = given;
  if (typeof name !== "string" || name === "") return undefined;
  if (place !== "path" && place !== "query" && place !== "header" && place !== "cookie") return undefined;
  if (place === "header" && (RESERVED_HEADERS.has(name.toLowerCase()) || !TOKEN.test(name))) return undefined;
  if (place === "cookie" && !TOKEN.test(name)) return undefined;
  const [, media] = entriesOf(given["content"])[0] ?? [];
  const schema =
    version === "2.0" ? schemaOfOld(given) : isJsonObject(media) ? media["schema"] : given["schema"];
  const resolved = isJsonObject(schema) ? schema : {};
  const writing = version === "2.0" ? oldWriting(given, place) : writingOf(given, place);
  return {
    name,
    place,
    required: place === "path" || given["required"] === true,
    schema: resolved,
    ...(textOf(given["description"]) !== undefined && { description: textOf(given["description"]) }),
    ...exampleIn(root, given),
    ...writing,
    json: isJsonObject(media),
  };
}

/** Reads how a value is written from a parameter or an encoding. */
export function writingOf(given: JsonObject, place: Parameter["place"]): Writing {
  const allowed = STYLES[place];
  const style = allowed.find((one) => one === given["style"]) ?? (allowed[0] as Style);
  const explode = typeof given["explode"] === "boolean" ? given["explode"] : style === "form";
  return { style, explode, allowReserved: given["allowReserved"] === true, json: false };
}

/** The same from a parameter of Swagger 2.0. */
export function oldWriting(given: JsonObject, place: Parameter["place"]): Writing {
  const format = textOf(given["collectionFormat"]) ?? "csv";
  const isQuery = place === "query" || place === "cookie";
  const style = isQuery ? (COLLECTIONS[format] ?? "form") : "simple";
  return { style, explode: format === "multi", allowReserved: false, json: false };
}

/** In Swagger 2.0 a parameter is its own schema. */
export function schemaOfOld(given: JsonObject): JsonObject {
  const { name: _, in: __, required: ___, description: ____, collectionFormat: _____, ...schema } = given;
  return schema;
}
