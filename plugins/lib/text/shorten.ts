import { estimateTokens } from "../tokens.ts";

/** Longer texts are not looked at any further: nobody reads a summary of them. */
const MAX_LENGTH = 10_000;
const LONGEST_SUMMARY = 240;

/** The end of a sentence, which a full stop within `e.g.` and the like is not. */
const SENTENCE = /^.*?(?<!\b(?:e\.g|i\.e|etc|vs|cf|incl|approx|no))[.!?](?=\s|$)/i;

/** `[text](address)`: an address costs more than it tells. */
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,1000}\)/g;

/** A text as one line, without the addresses of its links. */
export function oneLine(text: string | undefined): string {
  return (text ?? "").slice(0, MAX_LENGTH).replace(LINK, "$1").replace(/\s+/g, " ").trim();
}

/** What a tool does, in its first sentence. */
export function summaryOf(description: string | undefined): string {
  const text = oneLine(description);
  return shorten(SENTENCE.exec(text)?.[0] ?? text, LONGEST_SUMMARY);
}

/** A text of at most so many characters, cut at a word where there is one; the sign at its end says so. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const room = Math.max(0, length - 1);
  const space = text.lastIndexOf(" ", room);
  const cut = text.slice(0, space > room / 2 ? space : room);
  // Half of a character, and what leads to something that is not there any more.
  return `${cut.replace(/[\uD800-\uDBFF]$/, "").replace(/[\s,;:.([{"'`-]+$/, "")}…`;
}

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
