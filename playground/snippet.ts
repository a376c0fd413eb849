import type { Column } from "./protocol.ts";
import { optionsOf, rankerInfo } from "./rankers.ts";

/** A config that searches as a column does, ready to be pasted into `toolpipe.config.ts`. */
export function snippetOf({ ranker, settings }: Column): string {
  const changed = (rankerInfo(ranker)?.settings ?? []).filter(
    ({ path, default: usual }) => Object.hasOwn(settings, path) && settings[path] !== usual,
  );
  const options = optionsOf(Object.fromEntries(changed.map(({ path }) => [path, settings[path] as number])));
  return `import { defineConfig } from "toolpipe";

export default defineConfig({
  options: {
    search: ${literal({ ranker, ...options }, "    ")},
  },
});
`;
}

/** As a person would write it. */
function literal(value: unknown, indent: string): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const parts = (inner: string): string[] =>
    Object.entries(value).map(([key, part]) => `${keyOf(key)}: ${literal(part, inner)}`);
  const line = `{ ${parts(indent).join(", ")} }`;
  if (line.length < 70 && !line.includes("\n")) return line;
  return `{\n${parts(`${indent}  `)
    .map((part) => `${indent}  ${part},\n`)
    .join("")}${indent}}`;
}

function keyOf(key: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(key) ? key : JSON.stringify(key);
}
