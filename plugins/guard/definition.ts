import type { Tool, ToolDefinition } from "../../core/mod.ts";
import { canonicalJson, sha256 } from "./canonical.ts";

/**
 * The hash of what a server says that its tool is and does. Icons and metadata are left out: nobody decides by them,
 * and some servers change them with every list.
 */
export function definitionHash(definition: ToolDefinition): string {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition;
  return sha256(canonicalJson({ name, title, description, inputSchema, outputSchema, annotations }));
}

/** The same for tools of the catalog, which never change: each is hashed once. */
export function createHashes(): (tool: Tool) => string {
  const known = new WeakMap<Tool, string>();
  return (tool) => {
    const hash = known.get(tool) ?? definitionHash(tool);
    known.set(tool, hash);
    return hash;
  };
}
