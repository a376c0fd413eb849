import { createKeywordIndex, keywordDefaults, keywordRanker } from "../plugins/search/keyword.ts";
import {
  type Ranker,
  type RankerName,
  rankerNamed,
  rankerNames,
  type SearchOptions,
} from "../plugins/search/mod.ts";
import type { RankerInfo, Setting } from "./protocol.ts";

/** What rankers over one catalog are made from. */
export interface Stock {
  /** Hands all tools to what takes them in. */
  fill<T extends Pick<Ranker, "update">>(taker: T): T;
  /** What several of them use, made once. */
  shared<T>(name: string, make: () => T): T;
}

/** What of a ranker can be tried out. */
interface Trial {
  readonly summary: string;
  readonly settings?: readonly Setting[];
  /** Where a new setting need not read all tools again; otherwise it is made by its name. */
  make?(options: SearchOptions, stock: Stock): Ranker;
}

/** Every ranker that comes with toolpipe can be tried; what is said here of one adds sliders to it. */
const trials: Readonly<Partial<Record<RankerName, Trial>>> = {
  keyword: {
    summary: "BM25F over the words of every field",
    settings: [
      ...each("keyword.weights", "Weights", keywordDefaults.weights, 6, 0.1),
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
      ...each("keyword.lengths", "Length counts", keywordDefaults.lengths, 1, 0.05),
    ],
    make: ({ keyword }, stock) =>
      keywordRanker(
        keyword,
        stock.shared("keyword", () => stock.fill(createKeywordIndex())),
      ),
  },
  tag: { summary: "Tags and server names in the query" },
  simple: { summary: "The formula of the AnyGPT specification" },
};

/** Every ranker of the playground, the default first. */
export const rankers: readonly RankerInfo[] = rankerNames.map((name) => ({
  name,
  summary: trials[name]?.summary ?? "",
  settings: trials[name]?.settings ?? [],
}));

/** What is known of a ranker, where there is one of this name. */
export function rankerInfo(name: string): RankerInfo | undefined {
  return rankers.find((ranker) => ranker.name === name);
}

/** Makes a ranker with all tools taken in. */
export async function makeRanker(name: string, options: SearchOptions, stock: Stock): Promise<Ranker> {
  const known = name as RankerName;
  return trials[known]?.make?.(options, stock) ?? stock.fill(await rankerNamed(known, options));
}

/** Settings as the options of the plugin `search`: `keyword.k1` is `k1` within `keyword`. */
export function optionsOf(settings: Readonly<Record<string, number>>): SearchOptions {
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
  usual: number,
  max: number,
  step: number,
): Setting {
  return { path, label, group, min: 0, max, step, default: usual };
}

/** One setting for each field. */
function each(
  path: string,
  group: string,
  usual: Readonly<Record<string, number>>,
  max: number,
  step: number,
): Setting[] {
  return Object.entries(usual).map(([field, value]) =>
    setting(`${path}.${field}`, spaced(field), group, value, max, step),
  );
}

/** `parameterDescriptions` → `Parameter descriptions`. */
function spaced(name: string): string {
  const words = name.replace(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}
