import type { Hit } from "../../core/services/search.ts";
import { type AdapterInfo, hasCapability, hasCountry } from "./adapter-info.ts";

/** Words for the fields of a tool in a sentence; other fields keep the name their ranker gives them. */
const fieldNames: Readonly<Record<string, string>> = {
  name: "its name",
  title: "its name",
  tag: "its tags",
  tags: "its tags",
  adapter: "its adapter",
  server: "its adapter",
  description: "its description",
};
const MAX_TERMS = 8;
/** Bonus of a common operation: enough to decide between equals. */
const COMMON_BONUS = 0.03;
/** Limit of the confidence in an operation that the query does not name. */
const MOST_BY_WORDS = 0.97;

/** Context of a task. */
export interface IntentContext {
  readonly currency?: string | undefined;
  readonly country?: string | undefined;
  readonly use_case?: string | undefined;
}

/** A hit weighed by the context of the task. */
export interface WeighedHit {
  readonly hit: Hit;
  readonly adapter: AdapterInfo;
  /** The operation id. */
  readonly id: string;
  /** Between 0 and 1. */
  readonly confidence: number;
  /** Reason of the confidence. */
  readonly why: string;
}

interface Fit {
  readonly has: readonly string[];
  readonly lacks: readonly string[];
}

/**
 * Weighs a hit by its adapter: one that lists what the context asks for is preferred; one that lists other values comes
 * after those that list none. An operation that the query names is not weighed.
 */
export function weighHit(hit: Hit, id: string, adapter: AdapterInfo, context: IntentContext): WeighedHit {
  const fit = compareContext(adapter, context);
  const isNamed = hit.why?.scores["named"] !== undefined;
  const asked = Object.values(context).filter((value) => value !== undefined).length;
  const bonus = asked === 0 ? 0 : (fit.has.length / asked) * 0.25;
  const weighed = (hit.relevance + (1 - hit.relevance) * bonus) * 0.85 ** fit.lacks.length;
  const isCommon = !isNamed && adapter.commonOperations.includes(id);
  const sum = Math.min(weighed + (isCommon ? COMMON_BONUS : 0), MOST_BY_WORDS);
  const confidence = Math.round((isNamed ? hit.relevance : sum) * 100) / 100;
  return { hit, adapter, id, confidence, why: explainHit(hit, adapter, fit, isCommon) };
}

/** Compares a context with the lists of an adapter. Values for which the adapter has no list are neither. */
function compareContext(adapter: AdapterInfo, { currency, country, use_case }: IntentContext): Fit {
  const has: string[] = [];
  const lacks: string[] = [];
  const judge = (
    given: string | undefined,
    list: readonly string[],
    isListed: (value: string) => boolean,
  ): void => {
    const value = given?.trim() ?? "";
    if (value !== "" && list.length > 0) (isListed(value) ? has : lacks).push(value);
  };
  const { currencies, countries, capabilities } = adapter;
  judge(currency, currencies, (value) =>
    currencies.some((code) => code.toLowerCase() === value.toLowerCase()),
  );
  judge(country, countries, (value) => hasCountry(adapter, value));
  judge(use_case, capabilities, (value) => hasCapability(adapter, value));
  return { has, lacks };
}

function explainHit(hit: Hit, { name }: AdapterInfo, { has, lacks }: Fit, isCommon: boolean): string {
  const byField = new Map<string, string[]>();
  const seen = new Set<string>();
  for (const { term, field } of hit.why?.terms ?? []) {
    // The weightiest field of a word comes first, and one is enough.
    if (seen.has(term) || seen.size === MAX_TERMS) continue;
    seen.add(term);
    const fieldName = fieldNames[field] ?? `its ${field}`;
    byField.set(fieldName, [...(byField.get(fieldName) ?? []), `"${term}"`]);
  }
  const found = [...byField].map(([field, terms]) => `${joinWords(terms)} in ${field}`);
  const sentences = [
    ...(hit.why?.scores["named"] === undefined ? [] : ["It is what was named."]),
    ...(found.length > 0 ? [`Matches ${found.join(", ")}.`] : []),
    ...(has.length > 0 ? [`${name} lists ${joinWords(has)}.`] : []),
    ...(isCommon ? [`It is a common operation of ${name}.`] : []),
    ...(lacks.length > 0 ? [`${name} does not list ${joinWords(lacks)}.`] : []),
  ];
  return sentences.join(" ") || "It came closest to the words of the task.";
}

function joinWords(words: readonly string[]): string {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}
