/** The rest of a longer description is ignored. */
const MAX_LENGTH = 10_000;
const LONGEST_SUMMARY = 240;

/** Matches a sentence; the full stop within `e.g.` and the like does not end it. */
const SENTENCE = /^.*?(?<!\b(?:e\.g|i\.e|etc|vs|cf|incl|approx|no))[.!?](?=\s|$)/i;

/** Matches `[text](address)`: an address costs more tokens than it is worth. */
const LINK = /\[([^[\]]{1,200})\]\([^()\s]{1,1000}\)/g;

/** Joins a description to one line, without the addresses of its links. */
export function toOneLine(text: string | undefined): string {
  return (text ?? "").slice(0, MAX_LENGTH).replace(LINK, "$1").replace(/\s+/g, " ").trim();
}

/** Returns the first sentence of a description. */
export function summarize(description: string | undefined): string {
  const text = toOneLine(description);
  return shorten(SENTENCE.exec(text)?.[0] ?? text, LONGEST_SUMMARY);
}

/** Shortens a string to a number of characters, at a word if possible, and ends it with an ellipsis. */
export function shorten(text: string, length: number): string {
  if (text.length <= length) return text;
  const room = Math.max(0, length - 1);
  const space = text.lastIndexOf(" ", room);
  const cut = text.slice(0, space > room / 2 ? space : room);
  // Half of a surrogate pair, and punctuation before the cut.
  return `${cut.replace(/[\uD800-\uDBFF]$/, "").replace(/[\s,;:.([{"'`-]+$/, "")}…`;
}
