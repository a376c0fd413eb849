import { estimateTokens } from "../../plugins/_tokens.ts";
import { shorten } from "./shorten.ts";

const LENGTHS = [160, 110, 80, 60, 44, 32];

/** The same rows; one text of each is shortened, all to the same length, until they take at most so many tokens. */
export function shortenedTo<Key extends string, Row extends Readonly<Record<Key, string>>>(
  tokens: number,
  rows: readonly Row[],
  key: Key,
): readonly Row[] {
  let shown = rows;
  for (const length of LENGTHS) {
    shown = rows.map((row) => ({ ...row, [key]: shorten(row[key], length) }));
    if (estimateTokens(JSON.stringify(shown)) <= tokens) break;
  }
  return shown;
}

/** What of a list is shown. */
export interface FittedList<Row> {
  readonly shown: readonly Row[];
  /** How many rows had to be left out. */
  readonly more: number;
}

/** The same, but rows are left out where even short texts take too much; the first one never is. */
export function fittedTo<Key extends string, Row extends Readonly<Record<Key, string>>>(
  tokens: number,
  rows: readonly Row[],
  key: Key,
): FittedList<Row> {
  const short = shortenedTo(tokens, rows, key);
  if (estimateTokens(JSON.stringify(short)) <= tokens) return { shown: short, more: 0 };
  let spent = 0;
  let count = 0;
  for (const row of short) {
    spent += estimateTokens(`${JSON.stringify(row)},`);
    if (spent > tokens && count > 0) break;
    count++;
  }
  return { shown: short.slice(0, count), more: rows.length - count };
}
