import type { Tool } from "../../core/mod.ts";
import { shorten, summarize } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";

/** A tool that fits a query, in the form of the specification. */
export interface SearchResult {
  readonly server: string;
  readonly tool: string;
  readonly summary: string;
  readonly relevance: number;
  readonly tags: readonly string[];
}

/** Rows that fit. */
interface FittedRows<Row> {
  readonly rows: readonly Row[];
  /** Number of rows that were left out. */
  readonly more: number;
}

/** Lengths of summaries, from pleasant to read to just enough to tell tools apart. */
const SUMMARY_LENGTHS = [200, 140, 110, 90, 70, 55, 45, 36];
/** JSON around search results. */
const FRAME = '{"results":[],"more":10}';
/** Error of the estimate. */
const SPARE_TOKENS = 5;
/** Lengths of descriptions in a list. */
const ROW_LENGTHS = [160, 110, 80, 60, 44, 32];

/** Packs as many results as fit into a number of tokens, the best first, with the longest summaries that fit. */
export function packSearchResults(
  all: readonly SearchResult[],
  tokens: number,
): { readonly results: readonly SearchResult[]; readonly more?: number } {
  const room = tokens - estimateTokens(FRAME) - SPARE_TOKENS;
  const { rows: results, more } = fitRows(room, all, "summary", SUMMARY_LENGTHS);
  return more > 0 ? { results, more } : { results };
}

/** Fits rows into a number of tokens: as many as fit with one field at its shortest, then with the longest that fits. */
export function fitRows<Key extends string, Row extends Readonly<Record<Key, string>>>(
  tokens: number,
  all: readonly Row[],
  key: Key,
  lengths: readonly number[] = ROW_LENGTHS,
): FittedRows<Row> {
  const cut = (row: Row, length: number): Row => ({ ...row, [key]: shorten(row[key], length) });
  const count = (rows: readonly Row[]): number =>
    rows.reduce((sum, row) => sum + estimateTokens(`${JSON.stringify(row)},`), 0);
  let spent = 0;
  // The first row is always in: an empty answer would mean that there is none.
  const end = all.findIndex((row, index) => {
    spent += count([cut(row, lengths.at(-1) ?? 0)]);
    return spent > tokens && index > 0;
  });
  const kept = end === -1 ? all : all.slice(0, end);
  let rows = kept;
  for (const length of lengths) {
    rows = kept.map((row) => cut(row, length));
    if (count(rows) <= tokens) break;
  }
  return { rows, more: all.length - kept.length };
}

/** A tool in a list of tools, in the form of the specification. */
type ToolRow = Pick<Tool, "name" | "enabled" | "tags"> & { readonly summary: string };

/** Packed lists. The catalog never changes a list of tools, and packing a thousand takes 50 ms. */
const packed = new WeakMap<readonly Tool[], Map<string, FittedRows<ToolRow>>>();

/** Fits the enabled tools of a list, or all, into a number of tokens. Each list is packed once. */
export function packTools(
  tools: readonly Tool[],
  includeDisabled: boolean,
  tokens: number,
): FittedRows<ToolRow> {
  const known = packed.get(tools) ?? new Map<string, FittedRows<ToolRow>>();
  packed.set(tools, known);
  const key = `${tokens} ${includeDisabled}`;
  const before = known.get(key);
  if (before) return before;
  const shown = tools.filter(({ enabled }) => enabled || includeDisabled);
  const rows = shown.map(({ name, description, enabled, tags }) => ({
    name,
    summary: summarize(description),
    enabled,
    tags,
  }));
  const fitted = fitRows(tokens, rows, "summary");
  known.set(key, fitted);
  return fitted;
}

/** A string that may be cut. */
interface Slot {
  readonly text: string;
  /** Characters to keep: at least the first number, then each next one while there is room. */
  readonly lengths: readonly number[];
}

/** Shortens strings to about a number of tokens; all take their next length before any takes the one after. */
export function fillSlots(slots: readonly Slot[], tokens: number): string[] {
  const filled = slots.map(({ text, lengths }) => shorten(text, lengths[0] ?? 0));
  let spent = filled.reduce((sum, text) => sum + estimateTokens(text), 0);
  const rounds = Math.max(0, ...slots.map(({ lengths }) => lengths.length));
  for (let round = 1; round < rounds; round++) {
    for (const [index, { text, lengths }] of slots.entries()) {
      const length = lengths[round];
      const now = filled[index] as string;
      if (length === undefined || now === text) continue;
      const longer = shorten(text, length);
      const cost = estimateTokens(longer) - estimateTokens(now);
      if (spent + cost > tokens) continue;
      filled[index] = longer;
      spent += cost;
    }
  }
  return filled;
}
