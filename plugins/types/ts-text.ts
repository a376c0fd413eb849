import { isJsonObject } from "../../core/mod.ts";
import { escapeOf, UNSEEN } from "./unseen.ts";

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;
/** A longer text as a value, or more of values within values, says no more than its type. */
const LONGEST_VALUE = 1_000;
const LONGEST_DOC = 1_000;

/** A text as a program has it. */
export function quoted(text: string): string {
  return JSON.stringify(text).replace(UNSEEN, escapeOf);
}

/** The name of a property as it stands in a type. */
export function memberName(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoted(name);
}

/** A name for a type, made of any text: `list_issues` is `ListIssues`. */
export function typeName(text: string): string {
  const words = text.slice(0, 200).match(/[A-Za-z0-9]+/g) ?? [];
  const name = words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join("");
  return /^[A-Z]/.test(name) ? name : `Tool${name}`;
}

/** What a description says, as a comment that it cannot end. */
export function docComment(description: unknown, indent: string): string {
  if (typeof description !== "string") return "";
  const shown =
    description.length <= LONGEST_DOC ? description : `${description.slice(0, LONGEST_DOC).trimEnd()}…`;
  const safe = shown
    .replace(/\r\n?|[\u2028\u2029]/g, "\n")
    .replace(UNSEEN, (sign) => (sign === "\n" ? sign : sign === "\t" ? " " : ""))
    .replaceAll("*/", "*\\/")
    // A compiler takes orders from comments.
    .replace(/@(?=ts-)/g, "@ ");
  const lines = safe
    .trim()
    .split("\n")
    .map((line) => line.trimEnd());
  if (lines.length === 1) return lines[0] === "" ? "" : `${indent}/** ${lines[0]} */\n`;
  const starred = lines.map((line) => (line === "" ? `${indent} *` : `${indent} * ${line}`));
  return [`${indent}/**`, ...starred, `${indent} */`, ""].join("\n");
}

/** A JSON value as the type of just this value. */
export function valueType(value: unknown): string {
  let left = LONGEST_VALUE;
  const type = typeOf(value);
  return left >= 0 ? type : kindOf(value);

  function typeOf(node: unknown): string {
    if (typeof node === "string") {
      left -= node.length;
      return left >= 0 ? quoted(node) : "string";
    }
    if (--left < 0) return kindOf(node);
    if (typeof node === "number" || typeof node === "boolean" || node === null) return String(node);
    if (Array.isArray(node)) return `[${node.map(typeOf).join(", ")}]`;
    if (!isJsonObject(node)) return "unknown";
    const members = Object.entries(node).map(([key, inner]) => {
      left -= key.length;
      return `${memberName(key)}: ${typeOf(inner)}`;
    });
    return members.length > 0 ? `{ ${members.join("; ")} }` : "{ [key: string]: never }";
  }
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "unknown[]";
  const type = typeof value;
  return type === "object" ? "{ [key: string]: unknown }" : type;
}
