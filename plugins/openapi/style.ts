import type { ParameterEncoding, Style } from "./parameters.ts";

/** Characters that a value may hold as they are where reserved ones are allowed, besides those that end the value. */
const RESERVED = /%(3A|2F|3F|40|21|24|27|28|29|2A|2C|3B|3D)/gi;

/** Half of a character, which cannot be written at all. */
const HALF = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A value as an address holds it. */
export function encoded(value: unknown, allowReserved = false): string {
  const text = encodeURIComponent(toSingleText(value).replace(HALF, "\ufffd")).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
  return allowReserved ? text.replace(RESERVED, decodeURIComponent) : text;
}

/** Writes a single value as a string, and any other as JSON. */
export function toSingleText(value: unknown): string {
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

/** One `name=value` of a query, a form or a cookie, both as they are written. */
export type Pair = readonly [name: string, value: string];

/** A value in a query or a form. */
export function queryPairs(
  name: string,
  value: unknown,
  writing: ParameterEncoding,
  encode?: Encode,
): Pair[] {
  const { style, explode, allowReserved, json } = writing;
  const write = encode ?? ((part: unknown) => encoded(part, allowReserved));
  const key = encode ? encode(name) : encoded(name);
  if (value === undefined || value === null) return [];
  if (json || typeof value !== "object") return [[key, write(json ? JSON.stringify(value) : value)]];
  if (style === "deepObject") return deepPairs(name, value, write, encode ?? encoded);
  // An empty list has no parts, so there is nothing to say.
  const parts = listParts(value);
  if (parts.length === 0) return [];
  if (explode) {
    return Array.isArray(value)
      ? parts.map(([, part]) => [key, write(part)] as const)
      : parts.map(([inner, part]) => [encode ? encode(inner) : encoded(inner), write(part)] as const);
  }
  return [[key, listed(value, write, BETWEEN[style] ?? ",")]];
}

/** `filter[by][name]=value`; the items of lists are numbered, which is the only way to write lists of objects. */
function deepPairs(name: string, value: unknown, write: Encode, writeName: Encode): Pair[] {
  if (value === undefined) return [];
  if (typeof value !== "object" || value === null) return [[writeName(name), write(value ?? "")]];
  return listParts(value).flatMap(([inner, part]) => deepPairs(`${name}[${inner}]`, part, write, writeName));
}

/** A value in a path. */
export function pathText(name: string, value: unknown, { style, explode, json }: ParameterEncoding): string {
  const write: Encode = (part) => encoded(part);
  if (json) return write(JSON.stringify(value));
  const isSingle = typeof value !== "object" || value === null;
  if (style === "matrix") return matrix(name, value, explode, write);
  const between = style === "label" ? "." : ",";
  const start = style === "label" ? "." : "";
  if (isSingle) return `${start}${write(value)}`;
  if (!explode) return `${start}${listed(value, write, ",")}`;
  const parts = listParts(value).map(([inner, part]) =>
    Array.isArray(value) ? write(part) : `${write(inner)}=${write(part)}`,
  );
  return `${start}${parts.join(between)}`;
}

function matrix(name: string, value: unknown, explode: boolean, write: Encode): string {
  const named = (key: unknown, text: string): string => `;${write(key)}${text === "" ? "" : `=${text}`}`;
  if (typeof value !== "object" || value === null) return named(name, write(value));
  if (!explode) return named(name, listed(value, write, ","));
  return listParts(value)
    .map(([inner, part]) => named(Array.isArray(value) ? name : inner, write(part)))
    .join("");
}

/** A value in a header, where nothing is escaped. */
export function headerText(value: unknown, { explode, json }: ParameterEncoding): string {
  if (json) return JSON.stringify(value);
  if (typeof value !== "object" || value === null) return toSingleText(value);
  if (Array.isArray(value) || !explode) return listed(value, toSingleText, ",");
  return listParts(value)
    .map(([name, part]) => `${name}=${toSingleText(part)}`)
    .join(",");
}

/** `R,100,G,200` of an object, `blue,black` of a list. */
function listed(value: object, write: Encode, between: string): string {
  const parts = listParts(value);
  const flat = Array.isArray(value) ? parts.map(([, part]) => part) : parts.flat();
  return flat.map((part) => write(part)).join(between);
}

function listParts(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, part]) => part !== undefined && part !== null);
}
