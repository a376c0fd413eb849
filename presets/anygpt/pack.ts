import { shorten } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";

/** A tool that fits a query, as the specification shows it. */
export interface SearchResult {
  readonly server: string;
  readonly tool: string;
  readonly summary: string;
  readonly relevance: number;
  readonly tags: readonly string[];
}

/** What a search answers with. */
export interface SearchAnswer {
  readonly results: readonly SearchResult[];
  /** How many more there are than were packed. */
  readonly more?: number;
}

/** From what is pleasant to read to what still tells tools apart. */
const LENGTHS = [200, 140, 110, 90, 70, 55, 45, 36];
/** What is around the results. */
const FRAME = '{"results":[],"more":10}';
/** What an estimate may be off by. */
const SPARE_TOKENS = 5;

/** As many of the results as fit into so many tokens, the best first, with summaries as long as that leaves room for. */
export function packed(results: readonly SearchResult[], tokens: number): SearchAnswer {
  const shortest = LENGTHS.at(-1) as number;
  const room = tokens - estimateTokens(FRAME) - SPARE_TOKENS;
  let spent = 0;
  let count = 0;
  for (const result of results) {
    spent += tokensOf(withSummary(result, shortest));
    // The best one is shown whatever it takes: an empty answer would say that there is none.
    if (spent > room && count > 0) break;
    count++;
  }
  const chosen = results.slice(0, count);
  for (const length of LENGTHS) {
    const candidate = chosen.map((result) => withSummary(result, length));
    const cost = candidate.reduce((sum, result) => sum + tokensOf(result), 0);
    if (cost <= room || length === shortest) return answer(candidate, results.length - count);
  }
  return answer(chosen, results.length - count);
}

function answer(results: readonly SearchResult[], more: number): SearchAnswer {
  return more > 0 ? { results, more } : { results };
}

function withSummary(result: SearchResult, length: number): SearchResult {
  return { ...result, summary: shorten(result.summary, length) };
}

function tokensOf(result: SearchResult): number {
  return estimateTokens(JSON.stringify(result));
}
