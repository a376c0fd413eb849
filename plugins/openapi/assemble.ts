import { isJsonObject, type JsonObject } from "../../core/mod.ts";
import type { Schemas } from "./schema.ts";

/** Limit of a schema: the validator refuses larger ones, so schemas are cut to fit. */
const MAX_NODES = 1_800;
const MAX_LEVELS = 30;
const MAX_CHARACTERS = 200_000;
/** Share of the limit that one definition may take. */
const DEFINITION = { nodes: 600, levels: 24, characters: 80_000 };

const DATA = new Set(["const", "default", "enum", "examples", "required"]);
const NAMED = new Set(["properties", "$defs"]);

interface Size {
  nodes: number;
  levels: number;
  characters: number;
}

/**
 * Completes the schema of an operation with its definitions under `$defs`, the nearest first, up to the limit. A
 * definition beyond the limit, and one that contains itself, is replaced by its name.
 */
export function addDefinitions(root: JsonObject, schemas: Schemas): JsonObject {
  const whole = { nodes: MAX_NODES - 50, levels: MAX_LEVELS, characters: MAX_CHARACTERS };
  const fitted = shrink(root, whole);
  const left = measure(fitted);
  const definitions = new Map<string, JsonObject>();
  for (let queue = findRefs(fitted); queue.length > 0; ) {
    const found: string[] = [];
    for (const name of queue) {
      if (definitions.has(name)) continue;
      const definition = fitDefinition(schemas.definition(name));
      const { nodes, characters } = measure(definition);
      const hasRoom = left.nodes + nodes <= MAX_NODES - 50 && left.characters + characters <= MAX_CHARACTERS;
      const taken = hasRoom ? definition : createPlaceholder(name, definition);
      const size = hasRoom ? { nodes, characters } : measure(taken);
      left.nodes += size.nodes;
      left.characters += size.characters;
      definitions.set(name, taken);
      if (hasRoom) found.push(...findRefs(definition));
    }
    queue = found;
  }
  if (definitions.size === 0) return fitted;
  return { ...fitted, $defs: removeCycles(definitions) };
}

const fittedDefinitions = new WeakMap<JsonObject, JsonObject>();

function fitDefinition(definition: JsonObject): JsonObject {
  let known = fittedDefinitions.get(definition);
  if (!known) {
    known = shrink(definition, DEFINITION);
    fittedDefinitions.set(definition, known);
  }
  return known;
}

/** Returns a schema that is small enough unchanged, and any other without its deepest parts. */
function shrink(schema: JsonObject, limit: Size): JsonObject {
  for (const depth of [Number.POSITIVE_INFINITY, 8, 6, 5, 4, 3, 2]) {
    const candidate = depth === Number.POSITIVE_INFINITY ? schema : prune(schema, depth);
    const { nodes, levels, characters } = measure(candidate);
    if (nodes <= limit.nodes && levels <= limit.levels && characters <= limit.characters) return candidate;
  }
  return { ...schema, properties: mapProperties(schema["properties"], () => ({})) };
}

function prune(schema: unknown, depth: number): unknown & JsonObject {
  if (!isJsonObject(schema)) return schema as JsonObject;
  const result: JsonObject = {};
  for (const [word, inner] of Object.entries(schema)) {
    if (word === "properties") {
      if (depth > 1) result[word] = mapProperties(inner, (property) => prune(property, depth - 1));
    } else if (word === "anyOf" || word === "allOf" || word === "prefixItems") {
      if (depth > 1) result[word] = (inner as unknown[]).map((part) => prune(part, depth - 1));
    } else if (word === "items" || word === "additionalProperties") {
      if (depth > 1) result[word] = prune(inner, depth - 1);
    } else if (word !== "required" || depth > 1) result[word] = inner;
  }
  return result;
}

function mapProperties(properties: unknown, change: (property: unknown) => unknown): JsonObject {
  return Object.fromEntries(
    Object.entries((properties ?? {}) as JsonObject).map(([name, property]) => [name, change(property)]),
  );
}

const sizes = new WeakMap<JsonObject, Size>();

/** Counts nodes as the validator of arguments does. */
function measure(schema: JsonObject): Size {
  const known = sizes.get(schema);
  if (known) return { ...known };
  const size: Size = { nodes: 0, levels: 0, characters: 0 };
  visit(schema, 0, false);
  sizes.set(schema, { ...size });
  return size;

  function visit(value: unknown, level: number, isNamed: boolean): void {
    size.nodes++;
    size.characters += typeof value === "string" ? value.length + 2 : 6;
    if (level > size.levels) size.levels = level;
    if (Array.isArray(value)) for (const item of value) visit(item, level + 1, false);
    if (!isJsonObject(value)) return;
    for (const [key, inner] of Object.entries(value)) {
      size.characters += key.length + 4;
      if (!isNamed && DATA.has(key)) size.characters += JSON.stringify(inner).length;
      else visit(inner, level + 1, !isNamed && NAMED.has(key));
    }
  }
}

const refs = new WeakMap<JsonObject, readonly string[]>();

function findRefs(schema: JsonObject): readonly string[] {
  let known = refs.get(schema);
  if (!known) {
    const found = new Set<string>();
    forEachRef(schema, (ref) => found.add(ref));
    known = [...found];
    refs.set(schema, known);
  }
  return known;
}

function forEachRef(value: unknown, visit: (name: string) => unknown, isNamed = false): void {
  if (Array.isArray(value)) for (const item of value) forEachRef(item, visit);
  if (!isJsonObject(value)) return;
  if (!isNamed && typeof value["$ref"] === "string") visit(toDefinitionName(value["$ref"]));
  for (const [key, inner] of Object.entries(value)) {
    if (typeof inner === "object" && (isNamed || !DATA.has(key))) {
      forEachRef(inner, visit, !isNamed && NAMED.has(key));
    }
  }
}

function toDefinitionName(ref: string): string {
  return ref.slice("#/$defs/".length);
}

/** Schema that takes the place of one there is no room for. */
function createPlaceholder(name: string, schema: JsonObject): JsonObject {
  const { type, description } = schema;
  return { ...(type !== undefined && { type }), description: description ?? `What the API calls ${name}.` };
}

/** Replaces references of a definition to itself by its name. */
function removeCycles(definitions: ReadonlyMap<string, JsonObject>): JsonObject {
  const done = new Map<string, JsonObject>();
  const path = new Set<string>();
  for (const name of definitions.keys()) visit(name);
  return Object.fromEntries([...definitions.keys()].map((name) => [name, done.get(name)]));

  function visit(name: string): void {
    const schema = definitions.get(name);
    if (!schema || done.has(name)) return;
    path.add(name);
    const back = new Set<string>();
    for (const next of findRefs(schema)) {
      if (path.has(next)) back.add(next);
      else visit(next);
    }
    path.delete(name);
    done.set(name, back.size === 0 ? schema : (cut(schema, back) as JsonObject));
  }

  function cut(value: unknown, back: ReadonlySet<string>, isNamed = false): unknown {
    if (Array.isArray(value)) return value.map((item) => cut(item, back));
    if (!isJsonObject(value)) return value;
    const ref = isNamed ? undefined : value["$ref"];
    if (typeof ref === "string" && back.has(toDefinitionName(ref))) {
      const { $ref: _, ...rest } = value;
      return {
        ...createPlaceholder(toDefinitionName(ref), {
          ...definitions.get(toDefinitionName(ref)),
          description: undefined,
        }),
        ...rest,
      };
    }
    return Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [
        key,
        !isNamed && DATA.has(key) ? inner : cut(inner, back, !isNamed && NAMED.has(key)),
      ]),
    );
  }
}
