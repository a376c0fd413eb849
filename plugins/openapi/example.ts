import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import { follow, toEntries } from "./document.ts";

/** The example that a parameter, a media type or a schema gives, wherever in the document it stands. */
export function findExample(root: JsonObject, given: unknown): { readonly example?: unknown } {
  const node = follow(root, given);
  if (!isJsonObject(node)) return {};
  const own = findValue(root, node["example"]);
  if (own !== undefined) return { example: own };
  const { examples } = node;
  // A list is that of a schema, and holds the values themselves.
  if (Array.isArray(examples)) return examples[0] === undefined ? {} : { example: examples[0] };
  for (const [, one] of toEntries(examples)) {
    const told = follow(root, one);
    if (isJsonObject(told) && told["value"] !== undefined) return { example: told["value"] };
  }
  return {};
}

/** Many documents refer to an example where a value should be; what they mean is the value in it. */
function findValue(root: JsonObject, example: unknown): unknown {
  if (!isJsonObject(example) || typeof example["$ref"] !== "string") return example;
  const target = follow(root, example);
  return isJsonObject(target) && "value" in target ? target["value"] : target;
}
