import * as crypto from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Tool, ToolDefinition } from "../../core/mod.ts";

/** JSON in its canonical form (RFC 8785): equal values are equal texts, in whatever order their keys came. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const object = value as Record<string, unknown>;
  let text = "";
  for (const key of Object.keys(object).sort()) {
    const inner = object[key];
    if (inner === undefined) continue;
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${canonicalJson(inner)}`;
  }
  return `{${text}}`;
}

/** The SHA-256 of a text, as hexadecimal digits. In one go where the platform can: it takes half the time. */
export const sha256: (text: string) => string =
  typeof crypto.hash === "function"
    ? (text) => crypto.hash("sha256", text, "hex")
    : (text) => crypto.createHash("sha256").update(text).digest("hex");

/** The SHA-256 of the bytes of a file, as hexadecimal digits. */
export async function hashFile(file: string): Promise<string> {
  return crypto
    .createHash("sha256")
    .update(await readFile(file))
    .digest("hex");
}

/**
 * The hash of what a server says that its tool is and does. Icons and metadata are left out: nobody decides by them,
 * and some servers change them with every list.
 */
export function definitionHash(definition: ToolDefinition): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return sha256(canonicalJson({ name, title, description, inputSchema, outputSchema, annotations }));
}

/** The same for tools of the catalog, which never change: each is hashed once. */
export function createToolHasher(): (tool: Tool) => string {
  const known = new WeakMap<Tool, string>();
  return (tool) => {
    const hash = known.get(tool) ?? definitionHash(tool);
    known.set(tool, hash);
    return hash;
  };
}
