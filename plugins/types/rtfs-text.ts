import { escapeOf, UNSEEN } from "./unseen.ts";

/** What RTFS takes for a keyword without doubt: `:*` stands for all other keys there, and `?` and `/` have a meaning. */
const PLAIN = /^[A-Za-z_$][\w$.<>=!+@-]*$/;

const SHORT: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
]);

/** A text in quotes. Nothing in it ends it, and it has no characters that cannot be seen. */
export function rtfsText(text: string): string {
  const escaped = text.replace(/["\\]/g, "\\$&");
  return `"${escaped.replace(UNSEEN, (sign) => SHORT.get(sign) ?? escapeOf(sign))}"`;
}

/** A name as a keyword, or as a text if it is no plain one. */
export function rtfsName(name: string): string {
  return PLAIN.test(name) ? `:${name}` : rtfsText(name);
}
