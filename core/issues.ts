import type { BaseIssue } from "valibot";

/**
 * Describes a wrong option in one line: its path, the expected value, the found value. The message of a schema states what
 * was expected. A found string is quoted only if one of a few words was expected: elsewhere it may be a secret.
 */
export function describeIssue(issue: BaseIssue<unknown>, root: string): string {
  const inner = findCause(issue);
  const path = describePath(issue) ?? root;
  if (inner.type === "strict_object" && inner.expected === "never") return `${path}: there is no such option`;
  // For a missing option valibot gives only its name.
  if (objects.includes(inner.type) && inner.received === "undefined" && inner.expected?.startsWith('"'))
    return `${path}: expected a value, found nothing`;
  const expected = inner.message.startsWith("Invalid ") ? inner.expected : inner.message;
  return `${path}: expected ${expected ?? "another value"}, found ${describeFound(inner)}`;
}

/** Returns the path of a wrong option, such as `pool.size`; undefined for the options as a whole. */
export function describePath(issue: BaseIssue<unknown>): string | undefined {
  const inner = findCause(issue);
  return [...toPath(issue), ...(inner === issue ? [] : toPath(inner))].join(".") || undefined;
}

function toPath(issue: BaseIssue<unknown>): string[] {
  return (issue.path ?? []).map((item) => String(item.key));
}

const objects: readonly string[] = ["object", "loose_object", "strict_object"];

/**
 * Finds the issue of the intended alternative of a union: not one that lacks a key or has an unknown one, nor one with
 * another literal.
 */
function findCause(issue: BaseIssue<unknown>): BaseIssue<unknown> {
  const nested = (issue.issues ?? []).filter((inner) => (inner.path?.length ?? 0) > 0);
  const rank = (inner: BaseIssue<unknown>): number =>
    inner.type === "literal" ? 2 : objects.includes(inner.type) ? 1 : 0;
  const meant = nested.toSorted((a, b) => rank(a) - rank(b))[0];
  return meant ? findCause(meant) : issue;
}

function describeFound(issue: BaseIssue<unknown>): string {
  const { input } = issue;
  if (input === undefined) return "nothing";
  if (typeof input !== "string") return issue.received;
  const isChoice = ["picklist", "literal", "enum"].includes(issue.type) && issue.expected?.includes('"');
  return isChoice && input.length <= 40 ? JSON.stringify(input) : "a string";
}

/** Replaces the path of a config that a message begins with. */
export function placeStart(message: string, toFilePath: (path: string) => string): string {
  return message.replace(/^\w[\w.-]*(?=: )/, (path) => toFilePath(path));
}
