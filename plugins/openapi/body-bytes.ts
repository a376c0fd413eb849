import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { PlannedBody, PlannedField } from "./arguments.ts";
import type { ParameterEncoding } from "./parameters.ts";
import { encodeValue, type Pair, toPlainString, toQueryPairs } from "./style.ts";

/** The encoded body of a request. */
interface EncodedBody {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The body without secrets, for a dry run. */
  readonly preview: unknown;
}

/** Encodes the arguments of the body; undefined if there are none. */
export function encodeBody(body: PlannedBody, args: JsonObject): EncodedBody | undefined {
  const { fields, others, whole, kind, contentType } = body;
  if (whole !== undefined) {
    const value = args[whole];
    if (value === undefined) return undefined;
    if (kind === "raw") return encodeRaw(value, body, whole);
    if (kind === "json") return encodeJson(value, contentType);
    return isJsonObject(value)
      ? encodeForm(toFields(value), kind === "multipart")
      : encodeRaw(toPlainString(value), body, whole);
  }
  const further = others === undefined ? {} : args[others];
  const given = (fields ?? []).filter(({ argument }) => args[argument] !== undefined);
  const values: Field[] = [
    ...toFields(isJsonObject(further) ? further : {}),
    ...given.map((field) => ({ field, name: field.name, value: args[field.argument] })),
  ];
  if (values.length === 0 && !body.required) return undefined;
  if (kind === "json")
    return encodeJson(Object.fromEntries(values.map(({ name, value }) => [name, value])), contentType);
  return encodeForm(values, kind === "multipart");
}

interface Field {
  readonly name: string;
  readonly value: unknown;
  readonly field?: PlannedField;
}

function toFields(value: JsonObject): Field[] {
  return Object.entries(value).map(([name, inner]) => ({ name, value: inner }));
}

function encodeJson(value: unknown, contentType: string): EncodedBody {
  return { contentType, bytes: Buffer.from(JSON.stringify(value)), preview: value };
}

function encodeRaw(value: unknown, { contentType, isFile }: PlannedBody, argument: string): EncodedBody {
  if (!isFile)
    return { contentType, bytes: Buffer.from(toPlainString(value)), preview: toPlainString(value) };
  const bytes = decodeFile(value, argument);
  return { contentType, bytes, preview: describeSize(bytes) };
}

function encodeForm(values: readonly Field[], isMultipart: boolean): EncodedBody {
  return isMultipart ? encodeMultipart(values) : encodeUrlForm(values);
}

const FORM: ParameterEncoding = { style: "form", explode: true, allowReserved: false, json: false };
const encodeFormValue = (value: unknown): string => encodeValue(value).replaceAll("%20", "+");

function encodeUrlForm(values: readonly Field[]): EncodedBody {
  const pairs = values.flatMap(({ name, value, field }): Pair[] => {
    if (value === null) return [[encodeFormValue(name), ""]];
    // An object is written as JSON unless the document declares another encoding.
    const encoding = field?.encoding ?? { ...FORM, json: isJsonObject(value) };
    return toQueryPairs(name, value, encoding, encoding.allowReserved ? undefined : encodeFormValue);
  });
  const text = pairs.map(([name, value]) => `${name}=${value}`).join("&");
  return { contentType: "application/x-www-form-urlencoded", bytes: Buffer.from(text), preview: text };
}

function encodeMultipart(values: readonly Field[]): EncodedBody {
  const boundary = `toolpipe-${randomBytes(16).toString("hex")}`;
  const preview: { name: string; content: unknown; contentType?: string }[] = [];
  const chunks: Buffer[] = [];
  for (const { name, value, field } of values) {
    // The items of a list are parts of their own.
    for (const item of Array.isArray(value) ? value : [value]) add(name, item, field);
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(chunks), preview };

  function add(name: string, value: unknown, field: PlannedField | undefined): void {
    const isFile = field?.isFile === true;
    const content = isFile ? decodeFile(value, field.argument) : Buffer.from(toPlainString(value));
    const declared = field?.contentType?.split(",")[0]?.trim();
    const fallback = isFile
      ? "application/octet-stream"
      : isJsonObject(value)
        ? "application/json"
        : undefined;
    const isValid = declared !== undefined && /^[\x20-\x7e]+$/.test(declared) && !declared.includes("*");
    const type = isValid ? declared : fallback;
    const file = isFile ? `; filename="${quoteName(name)}"` : "";
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoteName(name)}"${file}\r\n`;
    chunks.push(Buffer.from(`${head}${type === undefined ? "" : `content-type: ${type}\r\n`}\r\n`));
    chunks.push(content, Buffer.from("\r\n"));
    preview.push({
      name,
      content: isFile ? describeSize(content) : value,
      ...(type && { contentType: type }),
    });
  }
}

function quoteName(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

function describeSize(bytes: Buffer): string {
  return `(${bytes.length} bytes)`;
}

function decodeFile(value: unknown, argument: string): Buffer {
  const text = toPlainString(value).trim();
  if (/^[A-Za-z0-9+/\s]*={0,2}$/.test(text)) return Buffer.from(text, "base64");
  throw new GatewayError("INVALID_ARGUMENTS", `The content of the file "${argument}" is not Base64.`, {
    data: { path: argument, sent: false },
  });
}
