import { GatewayError, isJsonObject, type JsonObject, nearest, type Tool } from "../../core/mod.ts";
import { propertiesOf, resolveRef, schemasIn } from "../../plugins/lib/schema/schema.ts";
import { signature } from "../../plugins/lib/schema/signature.ts";
import { someOf } from "../../plugins/lib/servers.ts";
import { parameterType } from "./parameter-type.ts";

/** What a type does not say, and a reader has to know. */
const LIMITS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "format",
  "minItems",
  "maxItems",
  "uniqueItems",
];

/** The same error with what is needed to do better: the exact path, what was expected there, how the tool is called. */
export function explainArguments(error: GatewayError, tool: Tool, args: unknown): GatewayError {
  const call = signature(tool);
  const fault = typeof error.data["path"] === "string" ? faultAt(tool, args, error.data["path"]) : undefined;
  const what = fault
    ? `The arguments of "${tool.id}" are wrong at "${fault.path}": expected ${fault.expected}, found ${fault.found}.`
    : error.message;
  return new GatewayError(error.kind, `${what} Call it as ${call}`, {
    cause: error,
    data: { ...error.data, ...fault, server: tool.server, tool: tool.id, signature: call },
  });
}

interface Fault {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

function faultAt({ inputSchema: root }: Tool, args: unknown, path: string): Fault | undefined {
  const steps = path.split("/").filter(Boolean).map(decodeStep);
  let schema: unknown = root;
  let value = args;
  for (const [index, step] of steps.entries()) {
    const inner = schemaOf(schema, step, root);
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, step);
    value = isThere ? (value as JsonObject)[step] : undefined;
    if (inner === undefined || inner === false) return unknownName(schema, steps.slice(0, index + 1), root);
    schema = inner;
  }
  const missing = isJsonObject(value)
    ? propertiesIn(schema, root).find(
        ({ name, required }) => required && !Object.hasOwn(value as object, name),
      )
    : undefined;
  if (missing) {
    return {
      path: pointer([...steps, missing.name]),
      expected: wanted(missing.schema, root),
      found: "nothing",
    };
  }
  // Of the arguments as a whole, the validator says it better than a type.
  if (steps.length === 0) return;
  return { path: pointer(steps), expected: wanted(schema, root), found: shown(value) };
}

/** A name that the schema does not have: most likely one that it has, written otherwise. */
function unknownName(schema: unknown, steps: readonly string[], root: unknown): Fault {
  const names = propertiesIn(schema, root).map(({ name }) => name);
  const hint = nearest(String(steps.at(-1)), names);
  return {
    path: pointer(steps),
    expected: names.length > 0 ? `one of the names ${someOf(names)}` : "no names",
    found: `another one${hint ? ` (did you mean "${hint}"?)` : ""}`,
  };
}

/** The schema of a part, wherever it is said. */
function schemaOf(schema: unknown, step: string, root: unknown, depth = 0): unknown {
  if (!isJsonObject(schema) || depth > 8) return;
  const own = propertiesOf(schema).find(({ name }) => name === step)?.schema;
  if (own !== undefined) return own;
  for (const part of partsOf(schema, root)) {
    const found = schemaOf(part, step, root, depth + 1);
    if (found !== undefined) return found;
  }
  const { items, prefixItems, additionalProperties } = schema;
  const index = /^\d+$/.test(step) ? Number(step) : undefined;
  if (index !== undefined && (items !== undefined || prefixItems !== undefined)) {
    return schemasIn(prefixItems)[index] ?? (Array.isArray(items) ? items[index] : items);
  }
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}

function propertiesIn(schema: unknown, root: unknown, depth = 0): ReturnType<typeof propertiesOf> {
  if (!isJsonObject(schema) || depth > 8) return [];
  const own = propertiesOf(schema);
  return own.length > 0 ? own : partsOf(schema, root).flatMap((part) => propertiesIn(part, root, depth + 1));
}

function partsOf(schema: JsonObject, root: unknown): unknown[] {
  const target = Object.hasOwn(schema, "$ref") ? [resolveRef(schema["$ref"], root)] : [];
  return [...target, ...["allOf", "anyOf", "oneOf"].flatMap((word) => schemasIn(schema[word]).slice(0, 20))];
}

function wanted(schema: unknown, root: unknown): string {
  const type = parameterType(schema, root, 200);
  if (!isJsonObject(schema)) return type;
  const limits = LIMITS.filter((word) => ["string", "number", "boolean"].includes(typeof schema[word]));
  const said = limits.map((word) => `${word} ${String(schema[word]).slice(0, 60)}`);
  return said.length > 0 ? `${type} (${said.join(", ")})` : type;
}

/** What was sent, but for texts: they may be secret. */
function shown(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string") return `a text of ${value.length} characters`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function pointer(steps: readonly string[]): string {
  return `/${steps.map((step) => step.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`;
}

/** The validator writes paths as parts of a URL. */
function decodeStep(step: string): string {
  const plain = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURI(plain);
  } catch {
    return plain;
  }
}
