import type { ParameterEncoding, Style } from "./parameters.ts";

/** Reserved characters that a value may contain if `allowReserved` is set, without those that end the value. */
const RESERVED = /%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)/gi;

/** Half of a surrogate pair, which cannot be encoded. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** Encodes a value for a URL. */
export function encodeValue(value: unknown, allowReserved = false): string {
  const text = encodeURIComponent(toPlainString(value).replace(HALF, "\ufffd")).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return allowReserved ? text.replace(RESERVED, decodeURIComponent) : text;
}

/** Writes a single value as a string, and any other as JSON. */
export function toPlainString(value: unknown): string {
  if (typeof value === "string") return value;
  return typeof value === "object" && value !== null ? JSON.stringify(value) : String(value ?? "");
}

type Encode = (value: unknown) => string;

/** Separators of values whose parts have no names. */
const BETWEEN: Readonly<Partial<Record<Style, string>>> = {
  spaceDelimited: "%20",
  pipeDelimited: "%7C",
  tabDelimited: "%09",
};

/** One `name=value` of a query, a form or a cookie, both encoded. */
export type Pair = readonly [name: string, value: string];

/** Encodes a value for a query or a form. */
export function toQueryPairs(
  name: string,
  value: unknown,
  encoding: ParameterEncoding,
  encode?: Encode,
): Pair[] {
  const { style, explode, allowReserved, json } = encoding;
  const write = encode ?? ((part: unknown) => encodeValue(part, allowReserved));
  const key = encode ? encode(name) : encodeValue(name);
  if (value === undefined || value === null) return [];
  if (json || typeof value !== "object") return [[key, write(json ? JSON.stringify(value) : value)]];
  if (style === "deepObject") return toDeepPairs(name, value, write, encode ?? encodeValue);
  // An empty list has no parts.
  const parts = listParts(value);
  if (parts.length === 0) return [];
  if (explode) {
    return Array.isArray(value)
      ? parts.map(([, part]) => [key, write(part)] as const)
      : parts.map(([inner, part]) => [encode ? encode(inner) : encodeValue(inner), write(part)] as const);
  }
  return [[key, joinParts(value, write, BETWEEN[style] ?? ",")]];
}

/** `filter[by][name]=value`; the items of lists are numbered, which is the only way to write lists of objects. */
function toDeepPairs(name: string, value: unknown, write: Encode, writeName: Encode): Pair[] {
  if (value === undefined) return [];
  if (typeof value !== "object" || value === null) return [[writeName(name), write(value ?? "")]];
  return listParts(value).flatMap(([inner, part]) =>
    toDeepPairs(`${name}[${inner}]`, part, write, writeName),
  );
}

/** Encodes a value for a path. */
export function toPathString(
  name: string,
  value: unknown,
  { style, explode, json }: ParameterEncoding,
): string {
  const write: Encode = (part) => encodeValue(part);
  if (json) return write(JSON.stringify(value));
  const isSingle = typeof value !== "object" || value === null;
  if (style === "matrix") return toMatrix(name, value, explode, write);
  const between = style === "label" ? "." : ",";
  const start = style === "label" ? "." : "";
  if (isSingle) return `${start}${write(value)}`;
  if (!explode) return `${start}${joinParts(value, write, ",")}`;
  const parts = listParts(value).map(([inner, part]) =>
    Array.isArray(value) ? write(part) : `${write(inner)}=${write(part)}`,
  );
  return `${start}${parts.join(between)}`;
}

function toMatrix(name: string, value: unknown, explode: boolean, write: Encode): string {
  const named = (key: unknown, text: string): string => `;${write(key)}${text === "" ? "" : `=${text}`}`;
  if (typeof value !== "object" || value === null) return named(name, write(value));
  if (!explode) return named(name, joinParts(value, write, ","));
  return listParts(value)
    .map(([inner, part]) => named(Array.isArray(value) ? name : inner, write(part)))
    .join("");
}

/** Formats a value for a header, where nothing is escaped. */
export function toHeaderString(value: unknown, { explode, json }: ParameterEncoding): string {
  if (json) return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return toPlainString(value);
  if (Array.isArray(value) || !explode) return joinParts(value, toPlainString, ",");
  return listParts(value)
    .map(([name, part]) => `${name}=${toPlainString(part)}`)
    .join(",");
}

/** `R,100,G,200` of an object, `blue,black` of a list. */
function joinParts(value: object, write: Encode, between: string): string {
  const parts = listParts(value);
  const flat = Array.isArray(value) ? parts.map(([, part]) => part) : parts.flat();
  return flat.map((part) => write(part)).join(between);
}

function listParts(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, part]) => part !== undefined && part !== null);
}
