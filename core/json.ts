import { GatewayError } from "./errors.ts";
import type { JsonObject } from "./tool.ts";

/** Limits of a JSON value, checked before it is hashed or printed. */
export interface JsonLimits {
  /** Levels of nesting. `JSON.stringify` itself fails at about 5,000. */
  readonly depth: number;
  /** Characters and values together: about the bytes of its JSON. */
  readonly size: number;
}

/** Limits of arguments: 64 levels, about 1 MB. */
export const argumentLimits: JsonLimits = Object.freeze({ depth: 64, size: 1_000_000 });

/** Returns whether a value is a plain JSON object: no array, no class instance. */
export function isJsonObject(value: unknown): value is JsonObject {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

/** Checks the arguments of a call: none, or an object of plain JSON within the limits. */
export function checkArguments(args: unknown, limits: JsonLimits = argumentLimits): JsonObject {
  if (args === undefined) return {};
  if (!isJsonObject(args)) {
    throw new GatewayError(
      "INVALID_ARGUMENTS",
      `The arguments must be a JSON object, but are ${describeType(args)}.`,
    );
  }
  checkJson(args, limits);
  return args;
}

/** Throws unless the value is plain JSON within the limits and free of keys that reach a prototype. */
export function checkJson(value: unknown, limits: JsonLimits): void {
  // Lower and upper bound of the bytes of its JSON; it is written out only if the limit is between the two.
  let least = 0;
  let most = 0;
  visit(value, 1, "");
  if (most > limits.size && Buffer.byteLength(JSON.stringify(value) ?? "") > limits.size) throw tooLarge();

  function visit(node: unknown, depth: number, path: string): void {
    add(typeof node === "string" ? node.length : 0);
    if (node === null || typeof node === "string" || typeof node === "boolean" || node === undefined) return;
    if (typeof node === "number" && Number.isFinite(node)) return;
    if (Array.isArray(node)) {
      enter(depth);
      for (let index = 0; index < node.length; index++) visit(node[index], depth + 1, `${path}/${index}`);
    } else if (isJsonObject(node)) {
      enter(depth);
      for (const key of Object.keys(node)) {
        add(key.length);
        if (key === "__proto__" || (key === "constructor" && reachesPrototype(node[key]))) {
          throw new GatewayError(
            "FORBIDDEN_KEY",
            `The key "${key}" is not allowed (at "${shorten(`${path}/${key}`)}").`,
          );
        }
        visit(node[key], depth + 1, `${path}/${key}`);
      }
    } else {
      throw new GatewayError(
        "INVALID_ARGUMENTS",
        `The value at "${shorten(path)}" is ${describeType(node)}, which JSON cannot represent.`,
      );
    }
  }

  function add(characters: number): void {
    least += characters + 1;
    // A control character takes six bytes, and no number more than 25.
    most += characters * 6 + 27;
    if (least > limits.size) throw tooLarge();
  }

  function tooLarge(): GatewayError {
    return new GatewayError("ARGUMENTS_TOO_LARGE", `The arguments are larger than ${limits.size} bytes.`);
  }

  function enter(depth: number): void {
    if (depth > limits.depth) {
      throw new GatewayError(
        "ARGUMENTS_TOO_DEEP",
        `The arguments are nested deeper than ${limits.depth} levels.`,
      );
    }
  }
}

function shorten(path: string): string {
  return path.length <= 200 ? path : `${path.slice(0, 200)}…`;
}

function reachesPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

/** Describes the type of a value in words. */
export function describeType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "an array";
  if (typeof value === "number") return Number.isFinite(value) ? "a number" : String(value);
  if (typeof value === "object") return `an instance of ${value.constructor?.name ?? "a class"}`;
  return `a ${typeof value}`;
}
