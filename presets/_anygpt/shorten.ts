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
