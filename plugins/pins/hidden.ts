import type { Tool } from "../../core/mod.ts";
import { removeSequences } from "../lib/terminal/output.ts";

/** Increases whenever the scan finds more: tools that an older version has scanned are scanned again. */
export const SCAN_VERSION = 2;

/** Names characters of a text that a reader cannot see; undefined if there are none. */
export function findHidden(text: string): string | undefined {
  // Most texts are printable ASCII, and need no further check.
  if (!/[^\n\x20-\x7e]/.test(text)) return undefined;
  const plain = text.replace(/^\ufeff/, "").replace(FLAG, "");
  if (CONTROL.test(plain)) return "control characters";
  if (TAGS.test(plain)) return "invisible tag characters";
  if (SELECTORS.test(plain)) return "a run of variation selectors";
  if (OVERRIDES.test(plain)) return "characters that reverse the order of the text";
  if (EMBEDDINGS.test(plain) && !RIGHT_TO_LEFT.test(plain))
    return "characters that reverse the order of the text";
  if (INVISIBLE.test(plain)) return "invisible characters";
  if ((plain.match(/\u00ad/g)?.length ?? 0) > 2) return "soft hyphens inside words";
  if (JOINER.test(plain) && hasStrayJoiner(plain)) return "invisible characters";
  const letters = plain.normalize("NFKC");
  if (FOREIGN.test(letters) && MIXED.test(letters)) return "words of letters that only look alike";
  return undefined;
}

/**
 * Removes characters from a text that a reader cannot see, and a model can. Joiners stay, as scripts and emoji need them;
 * so do marks of direction in a text that is written from right to left.
 */
export function stripHidden(text: string): string {
  if (!/[^\n\x20-\x7e]/.test(text)) return text;
  const kept = removeSequences(text)
    .split(FLAG_PARTS)
    .map((part, index) => (index % 2 === 1 ? part : part.replace(UNSEEN, "")));
  const plain = kept.join("");
  return RIGHT_TO_LEFT.test(plain) ? plain : plain.replace(/[\u202a-\u202c\u2066-\u2069]/g, "");
}

/** Converts a text as a model may understand it: without invisible characters, in plain letters. */
export function toPlainText(text: string): string {
  if (!/[^\n\x20-\x7e]/.test(text)) return text;
  return text
    .normalize("NFKC")
    .replace(/[\u{e0000}-\u{e007f}]/gu, (tag) =>
      String.fromCodePoint((tag.codePointAt(0) as number) - 0xe0000),
    )
    .replace(/[\u200b-\u200f\u202a-\u202e\u2060-\u2069\u00ad\ufeff]|[\u{e0100}-\u{e01ef}]/gu, "")
    .replace(/[аеорсухіјѕԁһ]/gi, (letter) => lookalikes[letter.toLowerCase()] ?? letter);
}

const lookalikes: Readonly<Record<string, string>> = {
  а: "a",
  е: "e",
  о: "o",
  р: "p",
  с: "c",
  у: "y",
  х: "x",
  і: "i",
  ј: "j",
  ѕ: "s",
  ԁ: "d",
  һ: "h",
};

/** Flags such as that of England are written with tag characters, and end in a mark of their own. */
const FLAG = /\u{1f3f4}[\u{e0061}-\u{e007a}\u{e0030}-\u{e0039}]{1,6}\u{e007f}/gu;
/** Splits a text at flags, and keeps them. */
const FLAG_PARTS = new RegExp(`(${FLAG.source})`, "gu");
const UNSEEN =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u180e\u202d\u202e\u2060-\u2064\u3164\uffa0\ufeff]|[\u{e0000}-\u{e007f}]|[\u{e0100}-\u{e01ef}]/gu;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/;
const TAGS = /[\u{e0000}-\u{e007f}]/u;
/** One after a character is how emoji and some Chinese characters are written; more of them carry a message. */
const SELECTORS = /[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]{2,}|[\x20-\x7e][\u{e0100}-\u{e01ef}]/u;
const OVERRIDES = /[\u202d\u202e]/;
const EMBEDDINGS = /[\u202a\u202b\u2066-\u2068]/;
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}]/u;
/** A space of no width separates words where there are no others, as in Thai. */
const INVISIBLE =
  /[\u180e\u2060-\u2064\u3164\uffa0\ufeff]|(?<![\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}])\u200b/u;
/** Stray joiners are slow to find, so this cheaper pattern goes first. */
const JOINER = /[\u200c\u200d]/;
/** Ranges that may hold Greek or Cyrillic letters, with everything beyond the first plane. */
const FOREIGN =
  /[\u0370-\u052f]|[\u1c80-\u1c8f]|[\u1d00-\u1dbf]|[\u1f00-\u1fff]|\u2126|[\u2de0-\u2dff]|[\ua640-\ua69f]|\uab65|[\ufe20-\ufe2f]|[\ud800-\udfff]/;
const MIXED =
  /[\p{Script=Latin}][\p{Script=Cyrillic}\p{Script=Greek}][\p{Script=Latin}\p{Script=Cyrillic}]|[\p{Script=Cyrillic}][\p{Script=Latin}][\p{Script=Cyrillic}\p{Script=Latin}]/u;

/** Joiners belong between emoji, and between letters that are written joined. */
function hasStrayJoiner(text: string): boolean {
  const stray = text.replace(
    /(?<=\p{Extended_Pictographic}|\ufe0f|[\u{1f3fb}-\u{1f3ff}])\u200d(?=\p{Extended_Pictographic})|(?<=[\p{L}\p{M}])[\u200c\u200d](?=[\p{L}\p{M}\s.,،])/gu,
    (joiner, place: number) => (isJoined(text, place) ? "" : joiner),
  );
  return JOINER.test(stray);
}

function isJoined(text: string, place: number): boolean {
  const before = text.slice(Math.max(0, place - 2), place);
  return /[^\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Han}]$/u.test(before);
}

/** Deeper schemas are refused before they are used. */
const MAX_DEPTH = 64;

/** The texts of a tool that a model reads. */
export type ToolTexts = Pick<Tool, "title" | "description" | "inputSchema" | "outputSchema">;

/** Removes invisible characters from the texts of a tool. */
export function stripTool(tool: ToolTexts): void {
  Object.assign(tool, stripTexts(tool));
}

/** Returns the texts that differ without invisible characters. */
export function stripTexts({ title, description, inputSchema, outputSchema }: ToolTexts): Partial<ToolTexts> {
  const texts = { title, description, inputSchema, outputSchema };
  const changed = Object.entries(texts).flatMap(([name, value]) => {
    const stripped = strip(value, 0);
    return stripped === value ? [] : [[name, stripped] as const];
  });
  return Object.fromEntries(changed);
}

/** Gives the same value back where nothing is removed: the schema of a tool is known by its identity. */
function strip(value: unknown, depth: number): unknown {
  if (typeof value === "string") return stripHidden(value);
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return value;
  if (Array.isArray(value)) {
    const items = value.map((item) => strip(item, depth + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  let isSame = true;
  const entries = Object.entries(value).map(([key, inner]) => {
    // Names of parameters stay: they are what the server takes.
    const stripped = strip(inner, depth + 1);
    if (stripped !== inner) isSame = false;
    return [key, stripped] as const;
  });
  return isSame ? value : Object.fromEntries(entries);
}
