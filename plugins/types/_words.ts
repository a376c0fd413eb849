/** Words of a JSON Schema by what they hold. Whatever is in no list is a note for people, or for some program. */
export type WordKind = "schema" | "schemas" | "named" | "count" | "number" | "text" | "gone";

const KINDS: readonly (readonly [kind: WordKind, words: readonly string[]])[] = [
  [
    "schema",
    [
      ...["additionalProperties", "propertyNames", "unevaluatedProperties", "contains", "unevaluatedItems"],
      ...["not", "if", "then", "else", "contentSchema"],
    ],
  ],
  ["schemas", ["allOf", "anyOf", "oneOf"]],
  ["named", ["properties", "patternProperties", "dependentSchemas"]],
  [
    "count",
    [
      ...["minLength", "maxLength", "minItems", "maxItems", "minContains", "maxContains"],
      ...["minProperties", "maxProperties"],
    ],
  ],
  ["number", ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]],
  ["text", ["pattern", "format", "contentEncoding", "contentMediaType"]],
  // Where a schema lies and what it is written in: of no use once its references are settled.
  [
    "gone",
    [
      ...["$schema", "$id", "$anchor", "$dynamicAnchor", "$recursiveAnchor", "$vocabulary", "$defs"],
      ...["definitions", "$ref", "$dynamicRef", "$recursiveRef", "nullable", "example", "dependencies"],
      ...["type", "enum", "const", "required", "dependentRequired", "uniqueItems"],
      ...["items", "prefixItems", "additionalItems"],
    ],
  ],
];

/** What each word holds; `gone` are those that are looked at by name, or not at all. */
export const wordKinds: ReadonlyMap<string, WordKind> = new Map(
  KINDS.flatMap(([kind, words]) => words.map((word) => [word, kind] as const)),
);

const TYPES: ReadonlySet<string> = new Set([
  "string",
  "number",
  "integer",
  "boolean",
  "null",
  "object",
  "array",
]);

/** The types that a `type` names, each once; none where it names none, or any. */
export function namedTypes(type: unknown): string[] {
  if (typeof type === "string" && TYPES.has(type)) return [type];
  const named = [type].flat().filter((each): each is string => typeof each === "string");
  const lower = new Set(named.map((each) => each.toLowerCase()));
  // A whole number is a number.
  if (lower.has("number")) lower.delete("integer");
  return lower.has("any") ? [] : [...lower].filter((each) => TYPES.has(each));
}

/** Whether a dialect is one of those where a reference hides the words beside it. */
export function hidesSiblings(dialect: unknown): boolean {
  return typeof dialect === "string" && /json-schema\.org\/draft-0[3-7]\//.test(dialect);
}
