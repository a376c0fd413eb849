import { defineError, type ErrorKind, GatewayError } from "../../core/mod.ts";

export const RTFS_INVALID: ErrorKind = defineError("RTFS_INVALID", {
  exit: 2,
  description: "A source is not RTFS, or not of the expected kind.",
});

/** Form of RTFS with its offset in the source. */
export type Form = { readonly at: number } & (
  | { readonly kind: "keyword" | "symbol" | "text"; readonly text: string }
  | { readonly kind: "list" | "vector" | "map"; readonly items: readonly Form[] }
);

/** Limits: files are untrusted. */
const MAX_DEPTH = 200;
const MAX_LENGTH = 4_000_000;

const CLOSING: Readonly<Record<string, string>> = { "(": ")", "[": "]", "{": "}" };
const KINDS = { "(": "list", "[": "vector", "{": "map" } as const;
const ESCAPES: Readonly<Record<string, string>> = { n: "\n", r: "\r", t: "\t" };
/** Whitespace, commas and comments. */
const BLANK = /[\s,]+|;[^\n]*/y;
const NAME = /[^\s,;"()[\]{}]+/y;

/** Reads a source of exactly one form. */
export function readForm(source: string): Form {
  if (source.length > MAX_LENGTH) throw invalid(source, 0, `it is longer than ${MAX_LENGTH} characters`);
  let at = 0;
  const form = read(0);
  skip();
  if (at < source.length) throw invalid(source, at, "there is more after its end");
  return form;

  function read(depth: number): Form {
    skip();
    const start = at;
    const first = source[at];
    if (first === undefined) throw invalid(source, at, "it ends too early");
    if (first === "(" || first === "[" || first === "{") {
      if (depth >= MAX_DEPTH) throw invalid(source, at, `it is nested deeper than ${MAX_DEPTH} levels`);
      at++;
      return { kind: KINDS[first], items: readUntil(CLOSING[first] as string, start, depth), at: start };
    }
    if (first === '"') return { kind: "text", text: decodeEscapes(readText()), at: start };
    NAME.lastIndex = at;
    const name = NAME.exec(source)?.[0];
    if (name === undefined) throw invalid(source, at, `"${first}" closes what is not open`);
    at += name.length;
    return name.startsWith(":")
      ? { kind: "keyword", text: name.slice(1), at: start }
      : { kind: "symbol", text: name, at: start };
  }

  function readUntil(closing: string, start: number, depth: number): Form[] {
    const items: Form[] = [];
    for (skip(); source[at] !== closing; skip()) {
      if (at >= source.length) throw invalid(source, start, `"${source[start]}" is never closed`);
      items.push(read(depth + 1));
    }
    at++;
    return items;
  }

  function skip(): void {
    do {
      at = Math.max(at, BLANK.lastIndex);
      BLANK.lastIndex = at;
    } while (BLANK.test(source));
  }

  /** Not by a regular expression: on a long string it would overflow its stack. */
  function readText(): string {
    const start = at;
    do {
      at++;
      while (source[at] === "\\") at += 2;
    } while (at < source.length && source[at] !== '"');
    if (at >= source.length) throw invalid(source, start, "a string is never closed");
    at++;
    return source.slice(start + 1, at - 1);
  }
}

function decodeEscapes(text: string): string {
  return text.replace(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_, code: string | undefined, sign: string) =>
    code === undefined ? (ESCAPES[sign] ?? sign) : String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** Creates the error for a position in the source. */
export function invalid(source: string, at: number, why: string): GatewayError {
  const before = source.slice(0, at).split("\n");
  const [line, column] = [before.length, (before.at(-1) ?? "").length + 1];
  return new GatewayError(
    RTFS_INVALID,
    `This RTFS cannot be read: ${why} (line ${line}, column ${column}).`,
    {
      data: { line, column },
    },
  );
}
