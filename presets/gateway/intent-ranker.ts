import type { Tool } from "../../core/mod.ts";
import type { Hit, MatchedTerm, Ranker } from "../../core/services/search.ts";
import { forEachWord, stem, stopWords } from "../../plugins/lib/text/words.ts";
import { createNameIndex, naming } from "../../plugins/lib/tool-index.ts";

/** Weight of a word of the query by the part of the tool it is found in. */
const credits = { name: 1, tag: 0.8, description: 0.6, adapter: 0.5 } as const;
/** Share of the score that depends on how much of the name the query has. */
const NAME_SHARE = 0.15;
/** Score of a tool that the query names; words alone score less. */
const named: Readonly<Record<number, number>> = {
  [naming.exact]: 1,
  [naming.alike]: 0.99,
  [naming.mentioned]: 0.98,
};
const MOST_BY_WORDS = 0.97;

/** Limits of what is read of queries and descriptions. */
const MAX_CHARACTERS = 4_000;
const MAX_TERMS = 64;
const MAX_DESCRIPTION = 2_000;

type Part = keyof typeof credits;

interface Entry {
  readonly tool: Tool;
  /** The heaviest part with each word. */
  readonly parts: ReadonlyMap<string, Part>;
  readonly name: ReadonlySet<string>;
}

/** Options of {@link createIntentRanker}. */
export interface IntentRankerOptions {
  /** Returns further labels of a tool, such as facts about its adapter. */
  readonly getLabels?: (tool: Tool) => readonly string[];
}

/**
 * Creates the ranker of the hardened specification, which does not guess: a tool that is named comes first, then those
 * that have the words of the query in their names, tags and descriptions. The score is the share of the query that was
 * found; rare words count up to twice as much as common ones.
 */
export function createIntentRanker({ getLabels = () => [] }: IntentRankerOptions = {}): Ranker & {
  /** Whether a tool has this word. */
  isWord(word: string): boolean;
} {
  const servers = new Map<string, readonly Entry[]>();
  const names = createNameIndex();
  const uses = new Map<string, number>();
  let size = 0;

  const count = (entries: readonly Entry[], by: 1 | -1): void => {
    size += entries.length * by;
    for (const { parts } of entries) {
      for (const term of parts.keys()) {
        const now = (uses.get(term) ?? 0) + by;
        if (now > 0) uses.set(term, now);
        else uses.delete(term);
      }
    }
  };
  const getWeight = (term: string): number => {
    const used = uses.get(term);
    return used === undefined || size < 2 ? 1 : 1 + Math.log(size / used) / Math.log(size);
  };

  return {
    name: "intent",
    isWord: (word) => uses.has(stem(word.toLowerCase())),
    update(server, tools) {
      const old = servers.get(server) ?? [];
      count(old, -1);
      const oldTools = old.map(({ tool }) => tool);
      names.remove(server, oldTools);
      servers.delete(server);
      if (tools.length === 0) return;
      const entries = tools.map((tool) => toEntry(tool, getLabels(tool)));
      servers.set(server, entries);
      names.add(server, tools);
      count(entries, 1);
    },
    rank(query, { server, limit = 10, explain = false } = {}) {
      const asked = parseTerms(query);
      const weights = new Map([...asked.keys()].map((term) => [term, getWeight(term)]));
      const whole = [...weights.values()].reduce((sum, weight) => sum + weight, 0);
      const byName = names.named(query);
      const hits: Hit[] = [];
      const searched = server === undefined ? [...servers.values()].flat() : (servers.get(server) ?? []);
      for (const entry of searched) {
        const { share, terms } = matchEntry(entry, asked, weights, whole, explain);
        const nameScore = named[byName.get(entry.tool) ?? naming.none];
        const relevance = nameScore ?? share;
        if (relevance <= 0) continue;
        hits.push({
          tool: entry.tool,
          relevance,
          ...(explain && {
            why: { scores: { [nameScore === undefined ? "intent" : "named"]: relevance }, terms },
          }),
        });
      }
      hits.sort((a, b) => b.relevance - a.relevance || (a.tool.id < b.tool.id ? -1 : 1));
      return { hits: hits.slice(0, Math.max(0, limit)), nearest: [] };
    },
  };
}

function matchEntry(
  { parts, name }: Entry,
  asked: ReadonlyMap<string, string>,
  weights: ReadonlyMap<string, number>,
  whole: number,
  explain: boolean,
): { share: number; terms: MatchedTerm[] } {
  let found = 0;
  let inName = 0;
  const terms: MatchedTerm[] = [];
  for (const [term, weight] of weights) {
    const part = parts.get(term);
    if (part === undefined) continue;
    const share = (weight * credits[part]) / whole;
    found += share;
    if (name.has(term)) inName++;
    if (explain) terms.push({ term: asked.get(term) ?? term, field: part, share });
  }
  const nameShare = name.size === 0 ? 0 : inName / name.size;
  return {
    share: found * (1 - NAME_SHARE + NAME_SHARE * nameShare) * MOST_BY_WORDS,
    terms: terms.sort((a, b) => b.share - a.share || (a.term < b.term ? -1 : 1)),
  };
}

/** Parses the significant words of a query, by the form in which they are looked up. */
export function parseTerms(query: string): ReadonlyMap<string, string> {
  const significant = new Map<string, string>();
  const fillers = new Map<string, string>();
  forEachWord(query.slice(0, MAX_CHARACTERS), (word) => {
    const terms = stopWords.has(word) ? fillers : significant;
    if (terms.size < MAX_TERMS && !terms.has(stem(word))) terms.set(stem(word), word);
  });
  return significant.size > 0 ? significant : fillers;
}

function toEntry(tool: Tool, labels: readonly string[]): Entry {
  const parts = new Map<string, Part>();
  const put = (text: string, part: Part): void =>
    forEachWord(text, (word) => {
      const term = stem(word);
      const before = parts.get(term);
      if (before === undefined || credits[before] < credits[part]) parts.set(term, part);
    });
  put(tool.name, "name");
  const name = new Set(parts.keys());
  put(tool.title ?? "", "name");
  for (const tag of tool.tags) put(tag, "tag");
  for (const label of labels) put(label, "adapter");
  put((tool.description ?? "").slice(0, MAX_DESCRIPTION), "description");
  return { tool, parts, name };
}
