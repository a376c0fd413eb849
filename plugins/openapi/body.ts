import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { type FoundOperation, follow, type OpenApiDocument, toEntries, toText } from "./document.ts";
import { findExample } from "./example.ts";
import { mergedObject } from "./merge.ts";
import { type ParameterEncoding, toEncoding, toLegacyEncoding, toLegacySchema } from "./parameters.ts";
import { isFile, isReadOnly } from "./schema.ts";

/** Encoding of a request body. */
export type BodyKind = "json" | "form" | "multipart" | "raw";

/** One property of a body. */
export interface BodyField {
  readonly name: string;
  readonly required: boolean;
  /** In the words of the document. */
  readonly schema: JsonObject;
  /** Encoding in a form, if the document has one. */
  readonly writing?: ParameterEncoding | undefined;
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
  /** Its properties, where it is an object whose properties are known. */
  readonly fields?: readonly BodyField[] | undefined;
  /** Schema of further properties, if the document allows any. */
  readonly others?: unknown;
  /** Description of the whole body. */
  readonly schema: JsonObject;
  readonly isFile: boolean;
  readonly example?: unknown;
}

/** Reads the body of an operation, if there is one. */
export function readBody(
  document: OpenApiDocument,
  { operation }: FoundOperation,
  raw: readonly JsonObject[],
): Body | undefined {
  if (document.version === "2.0") return oldBody(document, operation, raw);
  const { root } = document;
  const body = follow(root, operation["requestBody"]);
  if (!isJsonObject(body)) return undefined;
  const [type, given] = chosen(toEntries(body["content"]));
  const media = isJsonObject(given) ? given : {};
  const encoding = isJsonObject(media["encoding"]) ? media["encoding"] : {};
  return made(root, {
    kind: toBodyKind(type),
    contentType: /[*]/.test(type) ? "application/json" : type,
    required: isNeeded(root, body["required"], media["schema"]),
    description: toText(body["description"]),
    schema: isJsonObject(media["schema"]) ? media["schema"] : {},
    encoding,
    ...findExample(root, media),
  });
}

/**
 * A body may be left out unless a document says otherwise, and most leave that word out even where a request
 * without a body makes no sense: a schema with fields that are required says what was meant.
 */
function isNeeded(root: JsonObject, said: unknown, schema: unknown): boolean {
  if (typeof said === "boolean") return said;
  const target = follow(root, schema);
  const required = isJsonObject(target) ? target["required"] : undefined;
  return Array.isArray(required) && required.length > 0;
}

function oldBody(
  { root }: OpenApiDocument,
  operation: JsonObject,
  raw: readonly JsonObject[],
): Body | undefined {
  const consumes = [operation["consumes"] ?? root["consumes"]]
    .flat()
    .filter((type) => typeof type === "string");
  const whole = raw.find((parameter) => parameter["in"] === "body");
  if (whole) {
    const [type] = chosen(consumes.map((name) => [name, undefined]));
    return made(root, {
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
      writing: toLegacyEncoding(parameter, "query"),
      isFile: parameter["type"] === "file",
    })),
  };
}

interface Found extends Omit<Body, "fields" | "others" | "isFile"> {
  readonly encoding: JsonObject;
}

function made(root: JsonObject, { encoding, ...body }: Found): Body {
  const target = follow(root, body.schema);
  const node = isJsonObject(target) ? target : {};
  const whole = Array.isArray(node["allOf"]) ? (mergedObject(root, node) ?? node) : node;
  const isWhole = body.kind === "raw" || !isFlat(root, whole);
  if (isWhole) return { ...body, isFile: body.kind === "raw" && isFile(node) };
  const required = Array.isArray(whole["required"]) ? whole["required"] : [];
  const fields = toEntries(whole["properties"]).flatMap(([name, given]): BodyField[] => {
    if (isReadOnly(root, given)) return [];
    const schema = isJsonObject(given) ? given : {};
    const resolved = follow(root, given);
    const said = isJsonObject(encoding[name]) ? encoding[name] : undefined;
    return [
      {
        name,
        required: required.includes(name),
        schema,
        writing: said && ("style" in said || "explode" in said) ? toEncoding(said, "query") : undefined,
        contentType: toText(said?.["contentType"]),
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

/** Of several media types the one that can be written best. */
function chosen<Media>(all: readonly (readonly [string, Media])[]): readonly [string, Media | undefined] {
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
