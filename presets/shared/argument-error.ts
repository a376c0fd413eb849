import { GatewayError, isJsonObject, type JsonObject, nearest, type Tool } from "../../core/mod.ts";
import { listSchemaProperties, resolveSchemaRef, toSchemas } from "../../plugins/lib/schema/schema.ts";
import { compactType, signature } from "../../plugins/lib/schema/signature.ts";
import { joinNames } from "../../plugins/lib/servers.ts";

/** Keywords of JSON Schema that a TypeScript type does not express. */
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
const MAX_DEPTH = 8;

interface Fault {
  readonly path: string;
  readonly expected: string;
  readonly found: string;
}

/** Adds to an error of the validator the exact path, what was expected there, and the signature of the tool. */
export function explainArgumentError(error: GatewayError, tool: Tool, args: unknown): GatewayError {
  const call = signature(tool);
  const { path } = error.data;
  const fault = typeof path === "string" ? findFault(tool, args, path) : undefined;
  const what = fault
    ? `The arguments of "${tool.id}" are wrong at "${fault.path}": expected ${fault.expected}, found ${fault.found}.`
    : error.message;
  return new GatewayError(error.kind, `${what} Call it as ${call}`, {
    cause: error,
    data: { ...error.data, ...fault, server: tool.server, tool: tool.id, signature: call },
  });
}

/** Renders the type of a parameter: the word of its schema, in TypeScript where it is more than a word. */
export function renderParameterType(schema: unknown, root: unknown, maxLength: number): string {
  const type = compactType(schema, { root, maxLength });
  // TypeScript has no integers, and an agent had better know.
  return type === "number" && isJsonObject(schema) && schema["type"] === "integer" ? "integer" : type;
}

function findFault({ inputSchema: root }: Tool, args: unknown, path: string): Fault | undefined {
  const steps = path.split("/").filter(Boolean).map(decodeStep);
  let schema: unknown = root;
  let value = args;
  for (const [index, step] of steps.entries()) {
    const inner = findSchema(schema, step, root);
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, step);
    value = isThere ? (value as JsonObject)[step] : undefined;
    if (inner === undefined || inner === false) {
      return createUnknownNameFault(schema, steps.slice(0, index + 1), root);
    }
    schema = inner;
  }
  const given = isJsonObject(value) ? value : undefined;
  const missing =
    given &&
    listProperties(schema, root).find(({ name, required }) => required && !Object.hasOwn(given, name));
  if (missing) {
    const at = encodePointer([...steps, missing.name]);
    return { path: at, expected: renderExpected(missing.schema, root), found: "nothing" };
  }
  // For the arguments as a whole, the message of the validator is better than a type.
  if (steps.length === 0) return;
  return { path: encodePointer(steps), expected: renderExpected(schema, root), found: renderFound(value) };
}

/** Suggests a name of the schema for one that it does not have. */
function createUnknownNameFault(schema: unknown, steps: readonly string[], root: unknown): Fault {
  const names = listProperties(schema, root).map(({ name }) => name);
  const hint = nearest(String(steps.at(-1)), names);
  return {
    path: encodePointer(steps),
    expected: names.length > 0 ? `one of the names ${joinNames(names)}` : "no names",
    found: `another one${hint ? ` (did you mean "${hint}"?)` : ""}`,
  };
}

/** Finds the schema of a property or an item, in subschemas and behind references too. */
function findSchema(schema: unknown, step: string, root: unknown, depth = 0): unknown {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return;
  const own = listSchemaProperties(schema).find(({ name }) => name === step)?.schema;
  if (own !== undefined) return own;
  for (const part of listSubschemas(schema, root)) {
    const found = findSchema(part, step, root, depth + 1);
    if (found !== undefined) return found;
  }
  const { items, prefixItems, additionalProperties } = schema;
  const index = /^\d+$/.test(step) ? Number(step) : undefined;
  if (index !== undefined && (items !== undefined || prefixItems !== undefined)) {
    return toSchemas(prefixItems)[index] ?? (Array.isArray(items) ? items[index] : items);
  }
  return isJsonObject(additionalProperties) ? additionalProperties : undefined;
}

function listProperties(schema: unknown, root: unknown, depth = 0): ReturnType<typeof listSchemaProperties> {
  if (!isJsonObject(schema) || depth > MAX_DEPTH) return [];
  const own = listSchemaProperties(schema);
  if (own.length > 0) return own;
  return listSubschemas(schema, root).flatMap((part) => listProperties(part, root, depth + 1));
}

function listSubschemas(schema: JsonObject, root: unknown): unknown[] {
  const target = Object.hasOwn(schema, "$ref") ? [resolveSchemaRef(schema["$ref"], root)] : [];
  return [...target, ...["allOf", "anyOf", "oneOf"].flatMap((word) => toSchemas(schema[word]).slice(0, 20))];
}

function renderExpected(schema: unknown, root: unknown): string {
  const type = renderParameterType(schema, root, 200);
  if (!isJsonObject(schema)) return type;
  const set = LIMITS.filter((word) => ["string", "number", "boolean"].includes(typeof schema[word]));
  const limits = set.map((word) => `${word} ${String(schema[word]).slice(0, 60)}`);
  return limits.length > 0 ? `${type} (${limits.join(", ")})` : type;
}

/** Renders a wrong value. Strings may be secret, so only their length is told. */
function renderFound(value: unknown): string {
  if (value === undefined) return "nothing";
  if (typeof value === "string")
    return `a string of ${value.length} character${value.length === 1 ? "" : "s"}`;
  if (Array.isArray(value)) return `a list of ${value.length}`;
  return typeof value === "object" && value !== null ? "an object" : String(value);
}

function encodePointer(steps: readonly string[]): string {
  return `/${steps.map((step) => step.replaceAll("~", "~0").replaceAll("/", "~1")).join("/")}`;
}

/** Decodes a step of a path, which the validator writes as part of a URL. */
function decodeStep(step: string): string {
  const plain = step.replaceAll("~1", "/").replaceAll("~0", "~");
  try {
    return decodeURI(plain);
  } catch {
    return plain;
  }
}
