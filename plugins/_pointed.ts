import type { JsonObject } from "../core/mod.ts";

/** What a pointer within a document (`#/a/b`) leads to. */
export function pointed(root: unknown, ref: string): unknown {
  if (ref !== "#" && !ref.startsWith("#/")) return;
  let value = root;
  for (const part of ref.split("/").slice(1)) {
    const key = decoded(part).replaceAll("~1", "/").replaceAll("~0", "~");
    const isThere = typeof value === "object" && value !== null && Object.hasOwn(value, key);
    if (!isThere) return;
    value = (value as JsonObject)[key];
  }
  return value;
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
