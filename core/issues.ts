import type { BaseIssue } from "valibot";

/**
 * One line for what is wrong with an option: where, what was expected, what was found. A schema's own
 * message says what was expected. A text that was found is shown only where one of a few words was
 * expected: elsewhere it may be a secret.
 */
export function describeIssue(issue: BaseIssue<unknown>, root: string): string {
  const inner = deepest(issue);
  const path = [...pathOf(issue), ...(inner === issue ? [] : pathOf(inner))].join(".") || root;
  if (inner.type === "strict_object" && inner.expected === "never") return `${path}: there is no such option`;
  // Of a missing option valibot says only its name.
  if (objects.includes(inner.type) && inner.received === "undefined" && inner.expected?.startsWith('"'))
    return `${path}: expected a value, found nothing`;
  const expected = inner.message.startsWith("Invalid ") ? inner.expected : inner.message;
  return `${path}: expected ${expected ?? "another value"}, found ${found(inner)}`;
}

function pathOf(issue: BaseIssue<unknown>): string[] {
  return (issue.path ?? []).map((item) => String(item.key));
}

const objects: readonly string[] = ["object", "loose_object", "strict_object"];

/**
 * In a union, what is wrong with the alternative that was meant: not one that lacks a key or has one too
 * many, nor one that has another word to tell it by.
 */
function deepest(issue: BaseIssue<unknown>): BaseIssue<unknown> {
  const nested = (issue.issues ?? []).filter((inner) => (inner.path?.length ?? 0) > 0);
  const rank = (inner: BaseIssue<unknown>): number =>
    inner.type === "literal" ? 2 : objects.includes(inner.type) ? 1 : 0;
  const meant = nested.toSorted((a, b) => rank(a) - rank(b))[0];
  return meant ? deepest(meant) : issue;
}

function found(issue: BaseIssue<unknown>): string {
  const { input } = issue;
  if (input === undefined) return "nothing";
  if (typeof input !== "string") return issue.received;
  const isChoice = ["picklist", "literal", "enum"].includes(issue.type) && issue.expected?.includes('"');
  return isChoice && input.length <= 40 ? JSON.stringify(input) : "a string";
}
