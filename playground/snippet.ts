import type { Column, RankerInfo } from "./protocol.ts";
import { toSearchOptions } from "./rankers.ts";

/** Writes a config that searches as a column does, ready to be pasted into `toolpipe.config.ts`. */
export function toSnippet({ ranker, settings }: Column, rankers: readonly RankerInfo[]): string {
  const known = rankers.find(({ name }) => name === ranker)?.settings ?? [];
  const changed = known.filter(
    ({ path, default: defaultValue }) => Object.hasOwn(settings, path) && settings[path] !== defaultValue,
  );
  const options = toSearchOptions(
    Object.fromEntries(changed.map(({ path }) => [path, settings[path] as number])),
  );
  return `import { defineConfig } from "toolpipe";

export default defineConfig({
  options: {
    search: ${toLiteral({ ranker, ...options }, "    ")},
  },
});
`;
}

/** Prints a value as hand-written code. */
function toLiteral(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = (inner: string): string[] =>
    Object.entries(value).map(([key, part]) => `${toKey(key)}: ${toLiteral(part, inner)}`);
  const line = `{ ${parts(indent).join(", ")} }`;
  if (line.length < 70 && !line.includes("\n")) return line;
  return `{\n${parts(`${indent}  `)
    .map((part) => `${indent}  ${part},\n`)
    .join("")}${indent}}`;
}

function toKey(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
