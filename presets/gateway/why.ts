import type { Hit } from "../../core/services/search.ts";
import type { AdapterInfo } from "./adapter-info.ts";
import { fitOf, type IntentContext } from "./facts.ts";
import { termsOf } from "./intent-ranker.ts";

/** How the parts of a tool are called in a sentence; others are called as their ranker calls them. */
const parts: Readonly<Record<string, string>> = {
  name: "its name",
  title: "its name",
  tag: "its tags",
  tags: "its tags",
  adapter: "its adapter",
  server: "its adapter",
  description: "its description",
};
const MAX_TERMS = 8;
/** What it counts to be an operation that most people need: enough to decide between equals. */
const COMMON = 0.03;
/** What is not named is never certain. */
const MOST_BY_WORDS = 0.97;

/** A hit with what the context of the task makes of it. */
export interface Weighed {
  readonly hit: Hit;
  readonly adapter: AdapterInfo;
  /** The id of the operation. */
  readonly id: string;
  /** Between 0 and 1. */
  readonly confidence: number;
  /** Why, of nothing but what was found. */
  readonly why: string;
}

/**
 * Weighs a hit by its adapter: one that lists what the context asks for is preferred, one that lists others but not
 * that comes after those that say nothing. What the query names is not weighed.
 */
export function weigh(hit: Hit, id: string, adapter: AdapterInfo, context: IntentContext): Weighed {
  const { has, lacks } = fitOf(adapter, context);
  const isNamed = hit.why?.scores["named"] !== undefined;
  const asked = Object.values(context).filter((value) => value !== undefined).length;
  const better = asked === 0 ? 0 : (has.length / asked) * 0.25;
  const weighed = (hit.relevance + (1 - hit.relevance) * better) * 0.85 ** lacks.length;
  // Of operations that fit alike, the one that most people need is meant more often than not.
  const isCommon = !isNamed && adapter.commonOperations.includes(id);
  const sum = Math.min(weighed + (isCommon ? COMMON : 0), MOST_BY_WORDS);
  const confidence = Math.round((isNamed ? hit.relevance : sum) * 100) / 100;
  return { hit, adapter, id, confidence, why: whyOf(hit, adapter, { has, lacks, isCommon }) };
}

/** What was understood of a task: the words that count, and its context. */
export function interpreted(query: string, { currency, country, use_case }: IntentContext): string {
  const words = [...termsOf(query).values()];
  return [...words, ...[currency, country, use_case].filter((value) => value !== undefined)].join(", ");
}

function whyOf(
  hit: Hit,
  { name }: AdapterInfo,
  { has, lacks, isCommon }: { has: readonly string[]; lacks: readonly string[]; isCommon: boolean },
): string {
  const byPart = new Map<string, string[]>();
  const said = new Set<string>();
  for (const { term, field } of hit.why?.terms ?? []) {
    // The weightiest place of a word comes first, and one is enough.
    if (said.has(term) || said.size === MAX_TERMS) continue;
    said.add(term);
    const part = parts[field] ?? `its ${field}`;
    byPart.set(part, [...(byPart.get(part) ?? []), `"${term}"`]);
  }
  const found = [...byPart].map(([part, terms]) => `${listed(terms)} in ${part}`);
  const sentences = [
    ...(hit.why?.scores["named"] === undefined ? [] : ["It is what was named."]),
    ...(found.length > 0 ? [`Matches ${found.join(", ")}.`] : []),
    ...(has.length > 0 ? [`${name} lists ${listed(has)}.`] : []),
    ...(isCommon ? [`It is a common operation of ${name}.`] : []),
    ...(lacks.length > 0 ? [`${name} does not list ${listed(lacks)}.`] : []),
  ];
  return sentences.join(" ") || "It came closest to the words of the task.";
}

function listed(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
