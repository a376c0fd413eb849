import type { Tool } from "../../../core/mod.ts";
import { forEachWord, stem, stopWords } from "../../lib/text/words.ts";

const LONGEST_LABEL = 200;

/** A tag or the name of a server, and the tools that have it. */
interface Label {
  readonly text: string;
  readonly terms: readonly string[];
  readonly tools: Set<Tool>;
}

/** Labels that are looked up by their words. */
interface Labels {
  add(text: string, tool: Tool): void;
  remove(text: string, tool: Tool): void;
  /** Finds the labels that share a word with a query, each with the share of its words that are in it. */
  matching(terms: ReadonlySet<string>): readonly (readonly [Label, number])[];
}

/** Creates an empty list of labels. */
export function createLabels(): Labels {
  const labels = new Map<string, Label>();
  const byTerm = new Map<string, Set<Label>>();
  return {
    add(text, tool) {
      let label = labels.get(text);
      if (!label) {
        label = { text, terms: [...tellingTerms(text.slice(0, LONGEST_LABEL))], tools: new Set() };
        labels.set(text, label);
        for (const term of label.terms) {
          const list = byTerm.get(term);
          if (list) list.add(label);
          else byTerm.set(term, new Set([label]));
        }
      }
      label.tools.add(tool);
    },
    remove(text, tool) {
      const label = labels.get(text);
      if (!label?.tools.delete(tool) || label.tools.size > 0) return;
      labels.delete(text);
      for (const term of label.terms) {
        const list = byTerm.get(term);
        list?.delete(label);
        if (list?.size === 0) byTerm.delete(term);
      }
    },
    matching(terms) {
      const hits = new Map<Label, number>();
      for (const term of terms)
        for (const label of byTerm.get(term) ?? []) hits.set(label, (hits.get(label) ?? 0) + 1);
      return [...hits]
        .map(([label, count]) => [label, count / label.terms.length] as const)
        .sort(([a], [b]) => (a.text < b.text ? -1 : 1));
    },
  };
}

/** Lists the terms of a string; stop words count only if there are no others. */
export function tellingTerms(text: string): ReadonlySet<string> {
  const terms = new Set<string>();
  const fillers = new Set<string>();
  forEachWord(text, (word) => (stopWords.has(word) ? fillers : terms).add(stem(word)));
  return terms.size > 0 ? terms : fillers;
}
