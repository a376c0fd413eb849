import { isJsonObject, type JsonObject, type Tool } from "../../core/mod.ts";
import { exampleOf } from "../../plugins/lib/schema/example.ts";
import { parametersOf } from "../_answers.ts";

const made = new WeakMap<Tool, Promise<JsonObject | undefined>>();

/** What an operation can be called with: the example of its document, else one of what it needs. */
export function exampleFor(tool: Tool): Promise<JsonObject | undefined> {
  let example = made.get(tool);
  if (!example) {
    example = exampleFrom(tool);
    made.set(tool, example);
  }
  return example;
}

async function exampleFrom({ operation, inputSchema }: Tool): Promise<JsonObject | undefined> {
  const own = operation?.examples.find((example) => Object.keys(example).length > 0);
  if (own) return own;
  const needed = parametersOf(inputSchema).filter(({ required }) => required);
  // What can be left out would only hide what cannot.
  const properties = Object.fromEntries(needed.map(({ name, schema }) => [name, schema]));
  const example = await exampleOf(
    isJsonObject(inputSchema["properties"]) ? { ...inputSchema, properties } : inputSchema,
  );
  return isJsonObject(example) ? example : undefined;
}
