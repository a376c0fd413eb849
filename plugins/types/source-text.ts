import { isJsonObject } from "../../core/mod.ts";

/**
 * Invisible characters that a program or an editor may act on: controls, bidirectional and hidden marks, lone
 * surrogates, unusual line ends.
 */
const INVISIBLE: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Escapes a character as `\\uXXXX`. */
function escapeCharacter(sign: string): string {
  return Array.from({ length: sign.length }, (_, index) => {
    return `\\u${sign.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;
/** Longer values are written as their type. */
const LONGEST_VALUE = 1_000;
const LONGEST_DOC = 1_000;

/** Quotes a string for source code. */
export function quote(text: string): string {
  return JSON.stringify(text).replace(INVISIBLE, escapeCharacter);
}

/** Quotes the name of a property, if that is needed. */
export function quoteProperty(name: string): string {
  return PLAIN_NAME.test(name) ? name : quote(name);
}

/** Converts any string to the name of a type: `list_issues` to `ListIssues`. */
export function toTypeName(text: string): string {
  const words = text.slice(0, 200).match(/[A-Za-z0-9]+/g) ?? [];
  const name = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(name) ? name : `Tool${name}`;
}

/** Formats a description as a doc comment that it cannot end. */
export function toDocComment(description: unknown, indent: string): string {
  if (typeof description !== "string") return "";
  const shown =
    description.length <= LONGEST_DOC ? description : `${description.slice(0, LONGEST_DOC).trimEnd()}…`;
  const safe = shown
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(INVISIBLE, (sign) => (sign === "\n" ? sign : sign === "\t" ? " " : ""))
    .replaceAll("*/", "*\\/")
    // A compiler obeys directives in comments.
    .replace(/@(?=ts-)/g, "@ ");
  const lines = safe
    .trim()
    .split("\n")
    .map((line) => line.trimEnd());
  if (lines.length === 1) return lines[0] === "" ? "" : `${indent}/** ${lines[0]} */\n`;
  const starred = lines.map((line) => (line === "" ? `${indent} *` : `${indent} * ${line}`));
  return [`${indent}/**`, ...starred, `${indent} */`, ""].join("\n");
}

/** Converts a JSON value to its literal type. */
export function toLiteralType(value: unknown): string {
  let left = LONGEST_VALUE;
  const type = toLiteral(value);
  return left >= 0 ? type : toKind(value);

  function toLiteral(node: unknown): string {
    if (typeof node === "string") {
      left -= node.length;
      return left >= 0 ? quote(node) : "string";
    }
    if (--left < 0) return toKind(node);
    if (typeof node === "number" || typeof node === "boolean" || node === null) return String(node);
    if (Array.isArray(node)) return `[${node.map(toLiteral).join(", ")}]`;
    if (!isJsonObject(node)) return "unknown";
    const members = Object.entries(node).map(([key, inner]) => {
      left -= key.length;
      return `${quoteProperty(key)}: ${toLiteral(inner)}`;
    });
    return members.length > 0 ? `{ ${members.join("; ")} }` : "{ [key: string]: never }";
  }
}

function toKind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "unknown[]";
  const type = typeof value;
  return type === "object" ? "{ [key: string]: unknown }" : type;
}

/** Names that are safe as a keyword: `:*` stands for all other keys in RTFS, and `?` and `/` have a meaning. */
const PLAIN_KEYWORD = /^[A-Za-z_$][\w$.<>=!+@-]*$/;

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** Quotes a string for RTFS, with invisible characters escaped. */
export function quoteRtfs(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&");
  return `"${escaped.replace(INVISIBLE, (character) => SHORT_ESCAPES.get(character) ?? escapeCharacter(character))}"`;
}

/** Converts a name to a keyword, or to a string if it is not a plain name. */
export function toKeyword(name: string): string {
  return PLAIN_KEYWORD.test(name) ? `:${name}` : quoteRtfs(name);
}
