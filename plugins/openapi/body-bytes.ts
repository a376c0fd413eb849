import { Buffer } from "node:buffer";
import { randomBytes } from "node:crypto";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { ParameterEncoding } from "./parameters.ts";
import type { PlannedBody, PlannedField } from "./plan.ts";
import { encoded, type Pair, queryPairs, toSingleText } from "./style.ts";

/** The body of a request. */
export interface WrittenBody {
  readonly contentType: string;
  readonly bytes: Buffer;
  /** The body without secrets, for a dry run. */
  readonly shown: unknown;
}

/** Writes the body that the arguments make, if they make any. */
export function writeBody(body: PlannedBody, args: JsonObject): WrittenBody | undefined {
  const { fields, others, whole, kind, contentType } = body;
  if (whole !== undefined) {
    const value = args[whole];
    if (value === undefined) return undefined;
    if (kind === "raw") return raw(value, body, whole);
    if (kind === "json") return json(value, contentType);
    return isJsonObject(value)
      ? form(entries(value), kind === "multipart")
      : raw(toSingleText(value), body, whole);
  }
  const further = others === undefined ? {} : args[others];
  const given = (fields ?? []).filter(({ argument }) => args[argument] !== undefined);
  const values: Entry[] = [
    ...entries(isJsonObject(further) ? further : {}),
    ...given.map((field) => ({ field, name: field.name, value: args[field.argument] })),
  ];
  if (values.length === 0 && !body.required) return undefined;
  if (kind === "json")
    return json(Object.fromEntries(values.map(({ name, value }) => [name, value])), contentType);
  return form(values, kind === "multipart");
}

interface Entry {
  readonly name: string;
  readonly value: unknown;
  readonly field?: PlannedField;
}

function entries(value: JsonObject): Entry[] {
  return Object.entries(value).map(([name, inner]) => ({ name, value: inner }));
}

function json(value: unknown, contentType: string): WrittenBody {
  return { contentType, bytes: Buffer.from(JSON.stringify(value)), shown: value };
}

function raw(value: unknown, { contentType, isFile }: PlannedBody, argument: string): WrittenBody {
  if (!isFile) return { contentType, bytes: Buffer.from(toSingleText(value)), shown: toSingleText(value) };
  const bytes = fileBytes(value, argument);
  return { contentType, bytes, shown: sizeOf(bytes) };
}

function form(values: readonly Entry[], isMultipart: boolean): WrittenBody {
  return isMultipart ? multipart(values) : urlencoded(values);
}

const FORM: ParameterEncoding = { style: "form", explode: true, allowReserved: false, json: false };
const encodedInForm = (value: unknown): string => encoded(value).replaceAll("%20", "+");

function urlencoded(values: readonly Entry[]): WrittenBody {
  const pairs = values.flatMap(({ name, value, field }): Pair[] => {
    if (value === null) return [[encodedInForm(name), ""]];
    // An object is written as JSON unless the document says otherwise.
    const writing = field?.writing ?? { ...FORM, json: isJsonObject(value) };
    return queryPairs(name, value, writing, writing.allowReserved ? undefined : encodedInForm);
  });
  const text = pairs.map(([name, value]) => `${name}=${value}`).join("&");
  return { contentType: "application/x-www-form-urlencoded", bytes: Buffer.from(text), shown: text };
}

function multipart(values: readonly Entry[]): WrittenBody {
  const boundary = `toolpipe-${randomBytes(16).toString("hex")}`;
  const shown: { name: string; content: unknown; contentType?: string }[] = [];
  const chunks: Buffer[] = [];
  for (const { name, value, field } of values) {
    // The items of a list are parts of their own.
    for (const item of Array.isArray(value) ? value : [value]) add(name, item, field);
  }
  chunks.push(Buffer.from(`--${boundary}--\r\n`));
  return { contentType: `multipart/form-data; boundary=${boundary}`, bytes: Buffer.concat(chunks), shown };

  function add(name: string, value: unknown, field: PlannedField | undefined): void {
    const isFile = field?.isFile === true;
    const content = isFile ? fileBytes(value, field.argument) : Buffer.from(toSingleText(value));
    const said = field?.contentType?.split(",")[0]?.trim();
    const fallback = isFile
      ? "application/octet-stream"
      : isJsonObject(value)
        ? "application/json"
        : undefined;
    const type = said !== undefined && /^[\x20-\x7e]+$/.test(said) && !said.includes("*") ? said : fallback;
    const file = isFile ? `; filename="${quoted(name)}"` : "";
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quoted(name)}"${file}\r\n`;
    chunks.push(Buffer.from(`${head}${type === undefined ? "" : `content-type: ${type}\r\n`}\r\n`));
    chunks.push(content, Buffer.from("\r\n"));
    shown.push({ name, content: isFile ? sizeOf(content) : value, ...(type && { contentType: type }) });
  }
}

function quoted(name: string): string {
  return name.replace(/["\r\n]/g, (character) => encodeURIComponent(character));
}

function sizeOf(bytes: Buffer): string {
  return `(${bytes.length} bytes)`;
}

function fileBytes(value: unknown, argument: string): Buffer {
  const text = toSingleText(value).trim();
  if (/^[A-Za-z0-9+/\s]*={0,2}$/.test(text)) return Buffer.from(text, "base64");
  throw new GatewayError(
    "INVALID_ARGUMENTS",
    `The content of the file "${argument}" is not written in Base64.`,
    {
      data: { path: argument, sent: false },
    },
  );
}
