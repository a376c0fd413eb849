import { isJsonObject } from "../../core/mod.ts";

/** Why an entry cannot be used, in words that quote no value. */
export class Refusal extends Error {}

/** A text, or what can stand for one in a file; undefined where there is nothing. */
export function text(value: unknown, what: string): string | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (typeof value !== "string") throw new Refusal(`${what} is not a text`);
  // No process and no request can hold this character.
  if (value.includes("\0")) throw new Refusal(`${what} holds a null character`);
  return value;
}

/** A list of texts; an empty one where there is nothing. */
export function texts(value: unknown, what: string): readonly string[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Refusal(`${what} is not a list`);
  return value.map((item) => {
    const found = text(item, `one of ${what}`);
    if (found === undefined) throw new Refusal(`one of ${what} is not a text`);
    return found;
  });
}

/** Texts by name; an empty map where there is nothing. A name without a value is left out. */
export function textMap(value: unknown, what: string): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw new Refusal(`${what} is not a map`);
  const found: [string, string][] = [];
  for (const [name, item] of Object.entries(value)) {
    if (name.includes("\0")) throw new Refusal(`${what} holds a null character`);
    const own = text(item, `"${name}" in ${what}`);
    if (own !== undefined) found.push([name, own]);
  }
  return Object.fromEntries(found);
}
