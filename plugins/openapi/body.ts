import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import {
  type FoundOperation,
  findExample,
  follow,
  type OpenApiDocument,
  toEntries,
  toText,
} from "./document.ts";
import { mergeAllOf } from "./merge.ts";
import { type ParameterEncoding, toEncoding, toLegacyEncoding, toLegacySchema } from "./parameters.ts";
import { isFile, isReadOnly } from "./schema.ts";

/** Encoding of a request body. */
type BodyKind = "json" | "form" | "multipart" | "raw";

/** One property of a body. */
export interface BodyField {
  readonly name: string;
  readonly required: boolean;
  /** As in the document. */
  readonly schema: JsonObject;
  /** Encoding in a form, if the document has one. */
  readonly encoding?: ParameterEncoding | undefined;
  /** Content type of a part of a multipart body. */
  readonly contentType?: string | undefined;
  /** Whether its value is the content of a file. */
  readonly isFile: boolean;
}

/** The body of an operation's request. */
export interface Body {
  readonly kind: BodyKind;
  readonly contentType: string;
  readonly required: boolean;
  readonly description?: string | undefined;
  /** Its properties, if it is an object with known properties. */
  readonly fields?: readonly BodyField[] | undefined;
  /** Schema of further properties, if the document allows any. */
  readonly others?: unknown;
  /** Description of the whole body. */
  readonly schema: JsonObject;
  readonly isFile: boolean;
  readonly example?: unknown;
}

/** Reads the body of an operation, if there is one. */
export function parseBody(
  document: OpenApiDocument,
  { operation }: FoundOperation,
  raw: readonly JsonObject[],
): Body | undefined {
  if (document.version === "2.0") return parseLegacyBody(document, operation, raw);
  const { root } = document;
  const body = follow(root, operation["requestBody"]);
  if (!isJsonObject(body)) return undefined;
  const [type, given] = chooseMedia(toEntries(body["content"]));
  const media = isJsonObject(given) ? given : {};
  const encoding = isJsonObject(media["encoding"]) ? media["encoding"] : {};
  return toBody(root, {
    kind: toBodyKind(type),
    contentType: /[*]/.test(type) ? "application/json" : type,
    required: isRequired(root, body["required"], media["schema"]),
    description: toText(body["description"]),
    schema: isJsonObject(media["schema"]) ? media["schema"] : {},
    encoding,
    ...findExample(root, media),
  });
}

/**
 * A body is optional unless a document sets `required`, and most do not set it even if a request without a body makes no
 * sense: required fields of the schema mean that the body is required.
 */
function isRequired(root: JsonObject, declared: unknown, schema: unknown): boolean {
  if (typeof declared === "boolean") return declared;
  const target = follow(root, schema);
  const required = isJsonObject(target) ? target["required"] : undefined;
  return Array.isArray(required) && required.length > 0;
}

function parseLegacyBody(
  { root }: OpenApiDocument,
  operation: JsonObject,
  raw: readonly JsonObject[],
): Body | undefined {
  const consumes = [operation["consumes"] ?? root["consumes"]]
    .flat()
    .filter((type) => typeof type === "string");
  const whole = raw.find((parameter) => parameter["in"] === "body");
  if (whole) {
    const [type] = chooseMedia(consumes.map((name) => [name, undefined]));
    return toBody(root, {
      kind: toBodyKind(type),
      contentType: type,
      required: whole["required"] === true,
      description: toText(whole["description"]),
      schema: isJsonObject(whole["schema"]) ? whole["schema"] : {},
      encoding: {},
    });
  }
  const form = raw.filter(({ in: place, name }) => place === "formData" && typeof name === "string");
  if (form.length === 0) return undefined;
  const isMultipart =
    consumes.includes("multipart/form-data") || form.some((parameter) => parameter["type"] === "file");
  return {
    kind: isMultipart ? "multipart" : "form",
    contentType: isMultipart ? "multipart/form-data" : "application/x-www-form-urlencoded",
    required: form.some((parameter) => parameter["required"] === true),
    schema: {},
    isFile: false,
    fields: form.map((parameter) => ({
      name: String(parameter["name"]),
      required: parameter["required"] === true,
      schema: { ...toLegacySchema(parameter), description: parameter["description"] },
      encoding: toLegacyEncoding(parameter, "query"),
      isFile: parameter["type"] === "file",
    })),
  };
}

interface RawBody extends Omit<Body, "fields" | "others" | "isFile"> {
  readonly encoding: JsonObject;
}

function toBody(root: JsonObject, { encoding, ...body }: RawBody): Body {
  const target = follow(root, body.schema);
  const node = isJsonObject(target) ? target : {};
  const whole = Array.isArray(node["allOf"]) ? (mergeAllOf(root, node) ?? node) : node;
  const isWhole = body.kind === "raw" || !isFlat(root, whole);
  if (isWhole) return { ...body, isFile: body.kind === "raw" && isFile(node) };
  const required = Array.isArray(whole["required"]) ? whole["required"] : [];
  const fields = toEntries(whole["properties"]).flatMap(([name, given]): BodyField[] => {
    if (isReadOnly(root, given)) return [];
    const schema = isJsonObject(given) ? given : {};
    const resolved = follow(root, given);
    const declared = isJsonObject(encoding[name]) ? encoding[name] : undefined;
    return [
      {
        name,
        required: required.includes(name),
        schema,
        encoding:
          declared && ("style" in declared || "explode" in declared)
            ? toEncoding(declared, "query")
            : undefined,
        contentType: toText(declared?.["contentType"]),
        isFile: holdsFile(root, resolved),
      },
    ];
  });
  const { additionalProperties } = whole;
  const mayHoldOthers = additionalProperties === true || isJsonObject(additionalProperties);
  return { ...body, fields, isFile: false, ...(mayHoldOthers && { others: additionalProperties }) };
}

/** Whether a body is an object whose properties can be arguments of their own. */
function isFlat(root: JsonObject, node: JsonObject): boolean {
  const { type, properties } = node;
  const types = [type ?? "object"].flat();
  if (!types.includes("object") || toEntries(properties).length === 0 || Array.isArray(node["allOf"]))
    return false;
  // A choice between sets of required properties is left to the API; one between other properties is not flat.
  return ["anyOf", "oneOf"].every((word) => {
    const list = node[word];
    if (!Array.isArray(list)) return true;
    return list.every((part) => {
      const branch = follow(root, part);
      if (!isJsonObject(branch) || Object.keys(branch).some((key) => /^(allOf|anyOf|oneOf)$/.test(key)))
        return false;
      return toEntries(branch["properties"]).every(
        ([name]) => isJsonObject(properties) && Object.hasOwn(properties, name),
      );
    });
  });
}

function holdsFile(root: JsonObject, node: unknown): boolean {
  if (!isJsonObject(node)) return false;
  if (isFile(node)) return true;
  const items = follow(root, node["items"]);
  return isJsonObject(items) && isFile(items);
}

const PREFERRED: readonly RegExp[] = [
  /^application\/json\b/i,
  /^[^;]+\+json\b/i,
  /^application\/x-www-form-urlencoded\b/i,
  /^multipart\/form-data\b/i,
];

/** Chooses the media type that is encoded best. */
function chooseMedia<Media>(
  all: readonly (readonly [string, Media])[],
): readonly [string, Media | undefined] {
  for (const pattern of PREFERRED) {
    const fitting = all.find(([type]) => pattern.test(type));
    if (fitting) return fitting;
  }
  return all[0] ?? ["application/json", undefined];
}

function toBodyKind(type: string): BodyKind {
  if (/^application\/x-www-form-urlencoded\b/i.test(type)) return "form";
  if (/^multipart\//i.test(type)) return "multipart";
  return /[/+]json\b/i.test(type) || type.includes("*") || type === "" ? "json" : "raw";
}
