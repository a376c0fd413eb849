/** Longer words are data, which only cost. */
const LONGEST_WORD = 40;
const NOT_ASCII = /[^\0-\x7f]/;
/** Accents of Latin, Greek and Cyrillic letters; other scripts write vowels with other marks. */
const ACCENTS = /[\u0300-\u036f]+/g;
const LETTERS = /[\p{L}\p{M}\p{N}]+/gu;
/** Scripts without spaces between words: every two neighbors count as a word. */
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}ー]+/gu;

const SEPARATOR = 0;
const LOWER = 1;
const UPPER = 2;
const DIGIT = 3;
const OTHER = 4;
const kinds = new Uint8Array(256).fill(OTHER, 128);
kinds.fill(LOWER, 97, 123).fill(UPPER, 65, 91).fill(DIGIT, 48, 58);

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let bytes = new Uint8Array(16_384);
const S = 115;
/** Single words that are written with capitals inside. */
const brands: ReadonlySet<string> = new Set(
  `github gitlab youtube linkedin javascript typescript mongodb postgresql mysql sqlite graphql openai whatsapp
  paypal wordpress hubspot clickup devtools facebook ebay iphone ipad macos ios openapi nosql dynamodb
  mariadb bigquery duckdb airbnb doordash stackoverflow sharepoint onedrive powerpoint quickbooks salesforce
  tiktok woocommerce webhook webhooks websocket sendgrid mailchimp coingecko coinmarketcap huggingface langchain
  cloudflare circleci jetbrains fastapi numpy pytorch tensorflow arxiv pubmed chatgpt deepseek openweather
  soundcloud imdb mcdonalds`.split(/\s+/),
);
const brandHashes = new Set([...brands].map(hashWord));

type WordVisitor = (word: string) => void;

/** Visits a word as bytes in any case, with the hash of the word in lower case. */
export type SpanVisitor = (bytes: Uint8Array, start: number, end: number, hash: number) => void;

/**
 * Calls `visit` with every word of a string, in lower case: identifiers are taken apart (`getHTTPStatus_v2`
 * is get, http, status, v2), accents are dropped, and scripts without spaces give pairs of neighbors.
 */
export function forEachWord(text: string, visit: WordVisitor): void {
  forEachSpan(text, visit, (from, start, end) => visit(decodeSpan(from, start, end)));
}

/**
 * Works as {@link forEachWord} for callers with very many words: those of ASCII letters and digits, nearly all, are not
 * decoded but passed to `visitSpan` as bytes. Neither visitor may read another string before it returns.
 */
export function forEachSpan(text: string, visit: WordVisitor, visitSpan: SpanVisitor): void {
  // Bytes in one array are several times faster to read than the characters of many strings, and reading
  // them is most of what indexing costs.
  const from = reserveBytes(text);
  const length = encoder.encodeInto(text, from).written;
  let at = 0;
  while (at < length) {
    const start = at;
    let hash = 0;
    let isMixed = false;
    let isForeign = false;
    let signLength = 1;
    for (; at < length; at++) {
      const byte = from[at] as number;
      const kind = kinds[byte] as number;
      if (kind === SEPARATOR) break;
      if (kind === OTHER) {
        signLength = measureSign(from, at);
        if (signLength > 0) break;
        isForeign = true;
      } else if (kind === UPPER && at > start) isMixed = true;
      hash = (Math.imul(hash, 31) + (byte | 32)) | 0;
    }
    if (isForeign) visitForeignWords(decoder.decode(from.subarray(start, at)), visit);
    else if (isMixed && !brandHashes.has(hash)) visitMixedSpans(from, start, at, visitSpan);
    else if (at > start && at - start <= LONGEST_WORD) visitSpan(from, start, at, hash);
    at += Math.max(1, signLength);
  }
}

function reserveBytes(text: string): Uint8Array {
  if (bytes.length < text.length * 3) bytes = new Uint8Array(text.length * 3);
  return bytes;
}

/** Decodes a span in lower case. */
export function decodeSpan(from: Uint8Array, start: number, end: number): string {
  let text = "";
  for (let at = start; at < end; at++) text += String.fromCharCode((from[at] as number) | 32);
  return text;
}

/** Splits a string into words, as {@link forEachWord} finds them. */
export function splitWords(text: string): string[] {
  const words: string[] = [];
  forEachWord(text, (word) => {
    words.push(word);
  });
  return words;
}

/** Removes case, accents and separators, to compare names. */
export function toNameKey(text: string): string {
  if (!NOT_ASCII.test(text)) return text.toLowerCase().replace(/[^a-z0-9]+/g, "");
  return removeAccents(text)
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, "");
}

/** Hashes ASCII letters and digits, whose case differs in one bit. */
function hashWord(word: string): number {
  let hash = 0;
  for (let at = 0; at < word.length; at++) hash = (Math.imul(hash, 31) + (word.charCodeAt(at) | 32)) | 0;
  return hash;
}

/**
 * Returns the bytes of a sign that is not ASCII, 0 for other characters: dashes, quotation marks, arrows, boxes.
 * Most descriptions have a few, which must not force the slow path.
 */
function measureSign(from: Uint8Array, at: number): number {
  const first = from[at] as number;
  const second = from[at + 1] as number;
  if (first === 0xc2) return 2;
  if (first === 0xe2 && second <= 0xaf) return 3;
  return first === 0xe3 && second === 0x80 && (from[at + 2] as number) <= 0x84 ? 3 : 0;
}

function visitForeignWords(run: string, visit: WordVisitor): void {
  for (const [letters] of removeAccents(run).matchAll(LETTERS)) {
    let end = 0;
    for (const match of letters.matchAll(UNSPACED)) {
      visitSpacedWord(letters.slice(end, match.index), visit);
      visitPairs(match[0], visit);
      end = match.index + match[0].length;
    }
    visitSpacedWord(letters.slice(end), visit);
  }
}

function removeAccents(text: string): string {
  return text.normalize("NFKD").replace(ACCENTS, "").normalize("NFKC");
}

function visitSpacedWord(word: string, visit: WordVisitor): void {
  if (word === "" || word.length > LONGEST_WORD) return;
  visit(word.toLowerCase());
}

function visitPairs(run: string, visit: WordVisitor): void {
  let last = "";
  let count = 0;
  for (const letter of run) {
    if (last !== "") visit(last + letter);
    last = letter;
    count++;
  }
  if (count === 1) visit(run);
}

function visitMixedSpans(from: Uint8Array, start: number, end: number, visitSpan: SpanVisitor): void {
  let first = start;
  let hash = 0;
  for (let at = start; at < end; at++) {
    const byte = from[at] as number;
    if (at > start && kinds[byte] === UPPER && beginsWord(from, at, end)) {
      if (at - first <= LONGEST_WORD) visitSpan(from, first, at, hash);
      first = at;
      hash = 0;
    }
    hash = (Math.imul(hash, 31) + (byte | 32)) | 0;
  }
  if (end - first <= LONGEST_WORD) visitSpan(from, first, end, hash);
}

/** Whether a capital begins a word: the last one of `HTTPServer` does, the last one of `URLs` does not. */
function beginsWord(from: Uint8Array, at: number, end: number): boolean {
  if (kinds[from[at - 1] as number] !== UPPER) return true;
  if (at + 1 >= end || kinds[from[at + 1] as number] !== LOWER) return false;
  return from[at + 1] !== S || (at + 2 < end && kinds[from[at + 2] as number] === LOWER);
}

/** Words that do not help to find a tool. */
export const stopWords: ReadonlySet<string> = new Set(
  `a an and any are as at be been being but by can cannot could did do does doing done dont for from had has have
  having he her here hers him his how i if im in into is it its ive just let lets like ll m may me might
  more most must my need needed needs no nor not of off on once one only or other our ours out over own please
  re s same shall she should so some such t than that the their theirs them then there these they this those
  through to too under until up us using ve very via want wanted wants was we were what when where which while
  who whom whose why will with within without would you your yours d am also able about actually
  additionally along already although always another anyone anything around based because before between both
  each either else etc ever every few furthermore give given gives help helpful helps however
  interested kindly know looking maybe moreover much now okay perhaps planning possible provide provides
  provided really regarding specific specified still sure tell thank thanks things think thus tool tools
  try trying use used useful uses various way well whether wish wonder wondering yes yet`.split(/\s+/),
);

/** Words of many tools that the rules would get wrong. */
const exceptions: ReadonlyMap<string, string> = new Map(
  `news:news ids:id dbs:db vms:vm prs:pr use:use used:use uses:use using:use embed:embed embeds:embed people:person
  children:child indices:index matrices:matrix vertices:vertex`
    .split(/\s+/)
    .map((pair) => pair.split(":") as [string, string]),
);

/**
 * An English word in lower case without the endings of plural, past and progress: `files`, `filed` and `filing`
 * are one word then. Endings that make another kind of word stay, since that cost more than it gave: a
 * `generator` is not what `general` is about.
 */
export function stem(word: string): string {
  const known = exceptions.get(word);
  if (known !== undefined) return known;
  // Short ones are often names: dns, aws, sms.
  if (word.length < 4) return word;
  let rest = removeTense(removePlural(word));
  if (rest.length < 3) return word;
  if (rest.length > 3 && rest.endsWith("y") && hasVowel(rest.slice(0, -1))) rest = `${rest.slice(0, -1)}i`;
  return rest.length > 3 && rest.endsWith("e") ? rest.slice(0, -1) : rest;
}

function removePlural(word: string): string {
  if (!word.endsWith("s") || /[siu]s$/.test(word)) return word;
  if (word.endsWith("sses") || word.endsWith("ies")) return word.slice(0, -2);
  return word.slice(0, -1);
}

function removeTense(word: string): string {
  if (word.endsWith("eed")) return hasVowel(word.slice(0, -3)) ? word.slice(0, -1) : word;
  const ending = word.endsWith("ing") ? 3 : word.endsWith("ed") ? 2 : 0;
  const rest = word.slice(0, word.length - ending);
  if (ending === 0 || !hasVowel(rest)) return word;
  return rest.length > 3 && /([^aeiouylsz])\1$/.test(rest) ? rest.slice(0, -1) : rest;
}

function hasVowel(text: string): boolean {
  return /[aeiouy]/.test(text);
}
