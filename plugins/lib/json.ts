import { Buffer } from "node:buffer";
import { GatewayError, isJsonObject, type JsonObject } from "../../core/mod.ts";
import { RESPONSE_TOO_DEEP } from "../../core/services/servers.ts";

/** Scanner of JSON, byte by byte, that builds no value. */
export interface JsonScan {
  feed(bytes: Uint8Array): void;
  /** Whether the JSON is nested deeper than allowed. */
  readonly tooDeep: boolean;
  /** Returns the `id` of the outermost object, which names the request that a message answers. */
  id(): string | number | undefined;
  /** Prepares for the next message. */
  reset(): void;
}

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const MAX_CAPTURED = 1_024;

/**
 * Creates a scanner. It finds the depth and the `id` even of a message that is too large to keep, since servers
 * write the `id` first or last. The bytes need not be JSON.
 */
export function createJsonScan(maxDepth: number): JsonScan {
  let depth = 0;
  let deepest = 0;
  let inString = false;
  let escaped = false;
  /** In the outermost object, a key comes next. */
  let atKey = false;
  /** Capture in progress: a key of the outermost object, or the value of `id`. */
  let capturing: "key" | "value" | undefined;
  let captured: number[] = [];
  let value: readonly number[] = [];

  return {
    get tooDeep() {
      return deepest > maxDepth;
    },
    id() {
      try {
        const id: unknown = JSON.parse(Buffer.from(value).toString());
        return typeof id === "string" || typeof id === "number" ? id : undefined;
      } catch {
        return undefined;
      }
    },
    reset() {
      depth = deepest = 0;
      inString = escaped = atKey = false;
      capturing = undefined;
      captured = [];
      value = [];
    },
    feed(bytes) {
      for (let index = 0; index < bytes.length; index++) {
        if (depth > 1) index = skipInside(bytes, index);
        const byte = bytes[index];
        if (byte === undefined) return;
        if (capturing && captured.length < MAX_CAPTURED) captured.push(byte);
        if (inString) {
          if (escaped) escaped = false;
          else if (byte === BACKSLASH) escaped = true;
          else if (byte === QUOTE) inString = false;
        } else if (byte === QUOTE) {
          inString = true;
          if (depth === 1 && atKey) capture("key", byte);
        } else structure(byte);
      }
    },
  };

  /**
   * Goes on to what closes the innermost part of the outermost object, or to the end of the bytes. Nearly all
   * bytes are inside; with everything in local variables this is several times faster.
   */
  function skipInside(bytes: Uint8Array, start: number): number {
    let [index, level, most, quoted, skip] = [start, depth, deepest, inString, escaped];
    for (; index < bytes.length; index++) {
      const byte = bytes[index];
      if (quoted) {
        if (skip) skip = false;
        else if (byte === BACKSLASH) skip = true;
        else if (byte === QUOTE) quoted = false;
      } else if (byte === QUOTE) quoted = true;
      else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        level++;
        if (level > most) most = level;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        if (level === 2) break;
        level--;
      }
    }
    depth = level;
    deepest = most;
    inString = quoted;
    escaped = skip;
    return index;
  }

  function structure(byte: number): void {
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      depth++;
      if (depth > deepest) deepest = depth;
      atKey = depth === 1 && byte === OPEN_OBJECT;
      capturing = undefined;
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
      if (depth === 1) endValue();
      depth--;
    } else if (depth === 1 && byte === COMMA) {
      endValue();
      atKey = true;
    } else if (depth === 1 && byte === COLON && atKey) {
      atKey = false;
      const isId = Buffer.from(captured).toString().startsWith('"id"');
      capturing = undefined;
      if (isId) capture("value");
    }
  }

  function capture(what: "key" | "value", ...first: number[]): void {
    capturing = what;
    captured = first;
  }

  function endValue(): void {
    if (capturing === "value") value = captured.slice(0, -1);
    capturing = undefined;
  }
}

/** Resolves a JSON pointer within a document (`#/a/b`); undefined if it leads nowhere. */
export function resolvePointer(root: unknown, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return;
  let value = root;
  for (const part of ref.split("/").slice(1)) {
    const key = decodeComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    if (!isThere) return;
    value = (value as JsonObject)[key];
  }
  return value;
}

/** Decodes a part of a URL; returns it as it is where it is malformed. */
export function decodeComponent(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

/** Size and keys of arguments. */
export interface Survey {
  readonly values: number;
  readonly longestList: number;
  /** Names of properties at any depth. */
  readonly keys: ReadonlySet<string>;
}

/** Looks through arguments once. They are within the limits of the core, so it may go as deep as they do. */
export function survey(args: unknown): Survey {
  const keys = new Set<string>();
  let values = 0;
  let longestList = 0;
  visit(args);
  return { values, longestList, keys };

  function visit(value: unknown): void {
    values++;
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      longestList = Math.max(longestList, value.length);
      for (const item of value) visit(item);
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      keys.add(key);
      visit(inner);
    }
  }
}

const MAX_DEPTH = 64;

/** Returns the error for untrusted JSON that reaches a prototype or is too deep for later walks. */
export function findJsonFault(value: unknown, depth = 0): GatewayError | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth >= MAX_DEPTH) {
    return new GatewayError(RESPONSE_TOO_DEEP, `The answer is nested deeper than ${MAX_DEPTH} levels.`);
  }
  if (Array.isArray(value)) {
    for (const inner of value) {
      const fault = findJsonFault(inner, depth + 1);
      if (fault) return fault;
    }
    return undefined;
  }
  for (const key of Object.keys(value)) {
    const inner = (value as Record<string, unknown>)[key];
    if (key === "__proto__" || (key === "constructor" && reachesPrototype(inner))) {
      return new GatewayError("FORBIDDEN_KEY", `The answer holds the key "${key}", which is not allowed.`);
    }
    const fault = findJsonFault(inner, depth + 1);
    if (fault) return fault;
  }
  return undefined;
}

/** Whether a value that the key `constructor` leads to would give access to a prototype. */
export function reachesPrototype(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.hasOwn(value, "prototype");
}

/** Parses JSON that another program may have written; undefined if it is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Parses JSON; undefined if it is not an object. */
export function parseJsonObject(text: string): JsonObject | undefined {
  const value = parseJson(text);
  return isJsonObject(value) ? value : undefined;
}
