import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { propertiesOf, resolveRef, schemasIn, typesOf, valuesOf } from "./_schema.ts";
import { type PatternCheck, textSample } from "./_text-sample.ts";

/** How a sample is made. */
export interface SampleStyle {
  /** Optional properties that have an example of their own are shown too. */
  readonly optional: boolean;
  /** Defaults are taken for examples; some are not allowed by their own schema. */
  readonly defaults: boolean;
}

/** Deeper schemas have no end, or no reader. */
const MAX_DEPTH = 12;
const MAX_ITEMS = 20;

/** A value that a schema probably allows; nothing if none was found. */
export function sampleOf(root: unknown, style: SampleStyle, matches: PatternCheck): unknown {
  return sample(root, "", 0);

  function sample(schema: unknown, name: string, depth: number): unknown {
    if (schema === true) return name || "text";
    if (!isJsonObject(schema) || depth > MAX_DEPTH) return;
    const told = toldIn(schema);
    if (told !== undefined) return told;
    if (Object.hasOwn(schema, "$ref")) return sample(resolveRef(schema["$ref"], root), name, depth + 1);
    const branch = chosenBranch(schema);
    const parts = [...schemasIn(schema["allOf"]), ...(branch === undefined ? [] : [branch])];
    const own = ownSample(schema, name, depth);
    const others = parts.map((part) => sample(part, name, depth + 1));
    const objects = [own, ...others].filter(isJsonObject);
    if (objects.length > 1) return Object.assign({}, ...objects);
    const isBare = typesOf(schema).length === 0 || (isJsonObject(own) && Object.keys(own).length === 0);
    return isBare ? (others.find((value) => value !== undefined) ?? own) : own;
  }

  /** What the author of a schema gives as a value of it. */
  function toldIn(schema: JsonObject): unknown {
    const { examples, example, default: byDefault } = schema;
    const told = Array.isArray(examples) && examples.length > 0 ? examples[0] : example;
    if (told !== undefined) return told;
    if (style.defaults && byDefault !== undefined && byDefault !== null && byDefault !== "") return byDefault;
    return valuesOf(schema)?.find((value) => value !== null && value !== "");
  }

  function ownSample(schema: JsonObject, name: string, depth: number): unknown {
    const types = typesOf(schema);
    const type = types.find((one) => one !== "null") ?? types[0];
    if (type === "string") return textSample(schema, name, matches);
    if (type === "number" || type === "integer") return numberSample(schema, type === "integer");
    if (type === "boolean") return true;
    if (type === "null") return null;
    if (type === "array") return listSample(schema, name, depth);
    if (type === "object") return objectSample(schema, depth);
    const isSilent = ["$ref", "anyOf", "oneOf", "allOf"].every((word) => !Object.hasOwn(schema, word));
    return isSilent ? name || "text" : undefined;
  }

  function objectSample(schema: JsonObject, depth: number): JsonObject | undefined {
    const result: JsonObject = {};
    for (const { name, schema: inner, required } of propertiesOf(schema)) {
      const hasOwn = isJsonObject(inner) && ("examples" in inner || "example" in inner);
      if (!required && !(style.optional && hasOwn)) continue;
      const value = sample(inner, name, depth + 1);
      if (value === undefined && required) return;
      if (value !== undefined) Object.defineProperty(result, name, { value, enumerable: true });
    }
    return result;
  }

  function listSample(schema: JsonObject, name: string, depth: number): unknown[] | undefined {
    const { items, prefixItems, minItems, maxItems } = schema;
    const heads = Array.isArray(prefixItems) ? prefixItems : schemasIn(items);
    const least = typeof minItems === "number" ? minItems : 0;
    if (least > MAX_ITEMS || maxItems === 0) return least > MAX_ITEMS ? undefined : [];
    const inner = Array.isArray(items) ? [] : [items ?? true];
    const length = Math.max(least, heads.length, 1);
    const values = Array.from({ length }, (_, index) => sample(heads[index] ?? inner[0], name, depth + 1));
    return values.includes(undefined) ? (least === 0 ? [] : undefined) : values;
  }
}

/** Of several choices the first that is not just `null`. */
function chosenBranch(schema: JsonObject): unknown {
  const branches = [...schemasIn(schema["anyOf"]), ...schemasIn(schema["oneOf"])];
  return branches.find((branch) => !isJsonObject(branch) || branch["type"] !== "null");
}

function numberSample(schema: JsonObject, isWhole: boolean): number {
  const bound = (word: string): number | undefined => {
    const value = schema[word];
    return typeof value === "number" ? value : undefined;
  };
  const step = bound("multipleOf") ?? 1;
  const above = bound("exclusiveMinimum");
  const least = bound("minimum") ?? (above === undefined ? undefined : above + (isWhole ? 1 : step));
  const most = bound("maximum") ?? bound("exclusiveMaximum");
  const wanted = Math.max(least ?? 1, most !== undefined && most < 1 ? (least ?? most) : 1);
  const stepped = Math.ceil(wanted / step) * step;
  const value = most !== undefined && stepped > most ? most : stepped;
  return isWhole ? Math.ceil(value) : value;
}
