import { isJsonObject, type Tool } from "../../../core/mod.ts";

/** The parts of a tool that are read apart, in the order of their weights in the weight file. */
export const fieldNames = ["name", "server", "first", "rest", "params"] as const;

/** One part of a tool. */
type FieldName = (typeof fieldNames)[number];

/** Words beyond these are left out: a long description says little more, and a pasted page is not a query. */
export const wordLimits: Readonly<Record<FieldName | "query", number>> = {
  query: 64,
  name: 16,
  server: 16,
  first: 48,
  rest: 96,
  params: 32,
};

/** Knows the row of a word in the table of vectors; -1 for a word without one. */
export type Vocabulary = (word: string) => number;

// What is kept of a text; more is only read and thrown away.
const LONGEST_TEXT = 20_000;
const CHUNK = /[A-Za-z0-9]+|[^\0-\x7f]+/g;
const PART = /[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+/g;
const FOREIGN = /[^\0-\x7f]/;
const ACCENT = /[\u0300-\u036f]/g;
const MARK = /[^\0-\x7f\p{L}\p{N}\p{M}]/gu;
const SHORTEST_COMPOUND = 6;
const LONGEST_WORD = 40;
const SHORTEST_HALF = 3;

/** Hashes a word as the weight file does: FNV-1a over UTF-16 units, mixed at the end. */
export function wordHash(word: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < word.length; index++)
    hash = Math.imul(hash ^ word.charCodeAt(index), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * The rows of the words of a text: of whole words, else of their parts. What is not known is left out. The
 * training reads in the very same way (`playground/train/text.py`), and a test compares the two.
 *
 * `heard` is told which word each run of rows stands for.
 */
export function findRows(
  text: string,
  limit: number,
  rowOf: Vocabulary,
  heard?: (word: string, from: number, to: number) => void,
): number[] {
  const rows: number[] = [];
  for (const [chunk] of plain(text.slice(0, LONGEST_TEXT)).matchAll(CHUNK)) {
    const from = rows.length;
    pushChunk(chunk, rowOf, rows);
    if (rows.length > limit) rows.length = limit;
    heard?.(chunk, from, rows.length);
    if (rows.length >= limit) break;
  }
  return rows;
}

/** Reads the parts of a tool. */
export function readFields(tool: Tool): Readonly<Record<FieldName, string>> {
  const text = (tool.description ?? tool.title ?? "").trim();
  const end = /[.!?](?=\s)|\n/.exec(text);
  const cut = end ? end.index + end[0].length : text.length;
  const properties = tool.inputSchema["properties"];
  const params = isJsonObject(properties) ? properties : {};
  const about = Object.values(params).map((each) => (isJsonObject(each) ? each["description"] : undefined));
  return {
    name: tool.name,
    server: [tool.server, ...tool.tags].join(" "),
    first: text.slice(0, cut),
    rest: [text.slice(cut), ...about.filter((each) => typeof each === "string")].join(" "),
    params: Object.keys(params).join(" "),
  };
}

function plain(text: string): string {
  return FOREIGN.test(text) ? text.normalize("NFKD").replace(ACCENT, "").replace(MARK, " ") : text;
}

function pushChunk(chunk: string, rowOf: Vocabulary, rows: number[]): void {
  const row = chunk.length <= LONGEST_WORD ? rowOf(chunk.toLowerCase()) : -1;
  if (row >= 0) rows.push(row);
  else if (!FOREIGN.test(chunk))
    for (const [part] of chunk.matchAll(PART)) pushPart(part.toLowerCase(), rowOf, rows);
}

function pushPart(part: string, rowOf: Vocabulary, rows: number[]): void {
  if (part.length > LONGEST_WORD) return;
  const row = rowOf(part);
  if (row >= 0) rows.push(row);
  else if (part.length >= SHORTEST_COMPOUND && part > "9") pushCompound(part, rowOf, rows);
}

/** Two known words written as one. */
function pushCompound(part: string, rowOf: Vocabulary, rows: number[]): void {
  for (let cut = part.length - SHORTEST_HALF; cut >= SHORTEST_HALF; cut--) {
    const head = rowOf(part.slice(0, cut));
    const tail = head < 0 ? -1 : rowOf(part.slice(cut));
    if (tail < 0) continue;
    rows.push(head, tail);
    return;
  }
}
