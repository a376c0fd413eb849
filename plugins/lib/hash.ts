import * as crypto from "node:crypto";
import { readFile } from "node:fs/promises";
import type { Tool, ToolDefinition } from "../../core/mod.ts";
import type { ServerConfig } from "../../core/services/sources.ts";

/** Serializes JSON in its canonical form (RFC 8785): equal values give equal strings, in any order of their keys. */
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

/** Hashes a string or bytes with SHA-256, as hexadecimal digits. `crypto.hash`, where the runtime has it, takes half the time. */
export const sha256Hex: (data: string | Uint8Array) => string =
  typeof crypto.hash === "function"
    ? (data) => crypto.hash("sha256", data, "hex")
    : (data) => crypto.createHash("sha256").update(data).digest("hex");

/** Hashes the bytes of a file with SHA-256, as hexadecimal digits. */
export async function hashFile(file: string): Promise<string> {
  return sha256Hex(await readFile(file));
}

/** Hashes the definition of a server: its name and connection as written, but not the file that holds it. */
export function hashServer({ name, connection }: Pick<ServerConfig, "name" | "connection">): string {
  return sha256Hex(canonicalJson({ name, connection }));
}

/** Hashes the definition of a tool without icons and metadata: no user decides by them, and some servers change them often. */
export function hashTool(definition: ToolDefinition): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return sha256Hex(canonicalJson({ name, title, description, inputSchema, outputSchema, annotations }));
}

/** Creates a {@link hashTool} for tools of the catalog, which never change: each is hashed once. */
export function createToolHasher(): (tool: Tool) => string {
  const known = new WeakMap<Tool, string>();
  return (tool) => {
    const hash = known.get(tool) ?? hashTool(tool);
    known.set(tool, hash);
    return hash;
  };
}
