/** A longer text is shown as `string`. */
const LONGEST_TEXT = 60;

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** A JSON value as a literal type: a text in single quotes, which cost nothing inside JSON. */
export function literalType(value: unknown): string {
  if (typeof value === "string") return value.length <= LONGEST_TEXT ? quoted(value) : "string";
  if (typeof value === "number") return Number.isFinite(value) ? String(value) : "number";
  if (typeof value === "boolean" || value === null) return String(value);
  return widened(value);
}

/** The type that a literal belongs to. */
export function widened(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "unknown[]";
  const type = typeof value;
  return type === "string" || type === "number" || type === "boolean" || type === "object" ? type : "unknown";
}

/** The name of a property as it stands in a type. */
export function propertyName(name: string): string {
  return PLAIN_NAME.test(name) ? name : quoted(name);
}

function quoted(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'");
  // The two line ends that JSON allows in a text and a program need not.
  return `'${escaped.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")}'`;
}
