import { createHash } from "node:crypto";
import type { Tool } from "../../../core/mod.ts";

/** Lists of tools never change, and several voices ask for the digest of the same one. */
const known = new WeakMap<readonly Tool[], string | undefined>();

/**
 * Equal only for tools of which every voice reads the same, in the same order. Nothing where that cannot be told:
 * of a schema that refers to itself, say.
 */
export function digestOf(tools: readonly Tool[]): string | undefined {
  if (!known.has(tools)) known.set(tools, reckoned(tools));
  return known.get(tools);
}

function reckoned(tools: readonly Tool[]): string | undefined {
  try {
    // More than is read, but written by the engine itself: to pick out what is read takes several times as long.
    const text = JSON.stringify(
      tools.map(({ server, name, title, description, inputSchema, tags, annotations }) => [
        server,
        name,
        title,
        description,
        inputSchema,
        tags,
        annotations?.title,
      ]),
    );
    return createHash("sha256").update(text).digest("base64");
  } catch {
    return undefined;
  }
}
