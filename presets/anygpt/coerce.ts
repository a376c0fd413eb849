import { argumentLimits, checkJson, isJsonObject, type JsonObject } from "../../core/mod.ts";

/** Numbers that a model wrote as a string; others would lose digits or are not meant as one. */
const NUMBER = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,12})?$/;

/**
 * Turns arguments that a model wrote as strings into what the schema asks for: numbers, objects and lists. Only where a
 * string would be refused; anything else is left to be checked as it is.
 */
export function coerceArguments(args: JsonObject, { properties }: JsonObject): JsonObject {
  if (!isJsonObject(properties)) return args;
  let coerced: JsonObject | undefined;
  for (const [name, given] of Object.entries(args)) {
    if (typeof given !== "string" || !Object.hasOwn(properties, name)) continue;
    const { [name]: schema } = properties;
    const value = isJsonObject(schema) ? coerce(given, schema["type"]) : given;
    if (value !== given) coerced = { ...(coerced ?? args), [name]: value };
  }
  return coerced ?? args;
}

function coerce(text: string, type: unknown): unknown {
  if (type === "number" || (type === "integer" && !text.includes("."))) {
    return NUMBER.test(text) ? Number(text) : text;
  }
  if (type !== "object" && type !== "array") return text;
  const value = parse(text);
  const fits = type === "array" ? Array.isArray(value) : isJsonObject(value);
  if (!fits) return text;
  checkJson(value, argumentLimits);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
