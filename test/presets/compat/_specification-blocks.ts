import { existsSync, readdirSync, readFileSync } from "node:fs";

const folder = new URL("../../../../shared/specs/", import.meta.url);

/** Returns the blocks of TypeScript in a specification; undefined where the specifications are not at hand. */
export function readBlocks(id: string): readonly string[] | undefined {
  if (!existsSync(folder)) return undefined;
  const name = readdirSync(folder).find((file) => file.startsWith(`${id}_`));
  if (name === undefined) return undefined;
  const text = readFileSync(new URL(name, folder), "utf8");
  return [...text.matchAll(/^```typescript\n([\s\S]*?)^```$/gm)].map(([, block = ""]) => block);
}

/** Returns the declarations of some kind in blocks, by name; of those that are repeated, the last. */
export function findDeclarations(blocks: readonly string[], kind: "interface" | "class" | "function") {
  const found = new Map<string, string>();
  const pattern = new RegExp(`^(?:async )?${kind} (\\w+)[\\s\\S]*?^}$`, "gm");
  for (const block of blocks) for (const [text, name = ""] of block.matchAll(pattern)) found.set(name, text);
  return found;
}

/** Turns a class without bodies into an ambient one: no private members, no values, no reserved names. */
export function toAmbient(declaration: string): string {
  return declaration
    .replace(/^ +private .*$/gm, "")
    .replace(/^( +)async /gm, "$1")
    .replace(/\barguments: any/g, "args: any")
    .replace(/^( +\w+) = '([^']*)';/gm, "$1: string;");
}
