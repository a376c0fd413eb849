import { keywordDefaults, type RankerName, rankerNames, type SearchOptions } from "../plugins/search/mod.ts";
import type { Column, RankerInfo, Setting } from "./protocol.ts";

/** Summaries and sliders of built-in rankers. */
const known: Readonly<Partial<Record<RankerName, Partial<RankerInfo>>>> = {
  keyword: {
    summary: "BM25F over the words of every field",
    settings: [
      ...createSettings("keyword.weights", "Weights", keywordDefaults.weights, 6, 0.1),
      setting("keyword.k1", "Saturation", "Counting", keywordDefaults.k1, 4, 0.1),
      setting("keyword.nameCoverage", "Name covered", "Counting", keywordDefaults.nameCoverage, 3, 0.05),
      setting("keyword.queryCoverage", "Query covered", "Counting", keywordDefaults.queryCoverage, 3, 0.05),
      setting(
        "keyword.serverCoverage",
        "Server covered",
        "Counting",
        keywordDefaults.serverCoverage,
        3,
        0.05,
      ),
      setting("keyword.synonyms", "Synonyms", "Counting", keywordDefaults.synonyms, 1, 0.05),
      ...createSettings("keyword.lengths", "Length counts", keywordDefaults.lengths, 1, 0.05),
    ],
  },
  tag: { summary: "Tags and server names in the query" },
  simple: { summary: "The formula of the AnyGPT specification" },
};

/** Lists the built-in rankers, the default first, and those of the given modules. */
export function listRankers(modules: readonly string[] = []): readonly RankerInfo[] {
  return [
    ...rankerNames.map((name) => ({ name, summary: "", settings: [], ...known[name] })),
    ...modules.map((name) => ({ name, summary: "Your own ranker", settings: [] })),
  ];
}

/** Converts settings to options of the plugin `search`: `keyword.k1` is `k1` within `keyword`. */
export function toSearchOptions(settings: Readonly<Record<string, number>>): SearchOptions {
  const options: Record<string, unknown> = {};
  for (const [path, value] of Object.entries(settings)) {
    const steps = path.split(".");
    const last = steps.pop() as string;
    let place = options;
    for (const step of steps) {
      place[step] ??= {};
      place = place[step] as Record<string, unknown>;
    }
    place[last] = value;
  }
  return options;
}

function setting(
  path: string,
  label: string,
  group: string,
  defaultValue: number,
  max: number,
  step: number,
): Setting {
  return { path, label, group, min: 0, max, step, default: defaultValue };
}

/** Creates one setting for each field. */
function createSettings(
  path: string,
  group: string,
  defaults: Readonly<Record<string, number>>,
  max: number,
  step: number,
): Setting[] {
  return Object.entries(defaults).map(([field, value]) =>
    setting(`${path}.${field}`, toLabel(field), group, value, max, step),
  );
}

/** `parameterDescriptions` → `Parameter descriptions`. */
function toLabel(name: string): string {
  const words = name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

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
