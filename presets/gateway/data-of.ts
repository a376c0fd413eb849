import type { ContentBlock, ToolResult } from "../../core/mod.ts";

/** What an operation answered: what is data, as JSON text, and what is not. */
export interface OperationData {
  readonly json: string;
  /** Images, audio, resources and the like, as they are: an answer in JSON could only hold them as dead text. */
  readonly rest: readonly ContentBlock[];
}

/** Numbers that would not be the same after they were read: too many digits, or too large. */
const UNSAFE_NUMBER = /\d{16}|\d[eE][+-]?\d{3}/;

/** The data of a result: its structured content, else its text, read as JSON where it is JSON. */
export function dataOf({ content, structuredContent }: ToolResult): OperationData {
  const isText = (block: ContentBlock): boolean => block.type === "text" && typeof block["text"] === "string";
  if (structuredContent !== undefined) {
    const json = JSON.stringify(structuredContent) ?? "null";
    // The protocol wants it repeated as text; where that was done, the text has every digit.
    const same = content.find((block) => isText(block) && jsonIn(String(block["text"]))?.compact === json);
    return {
      json: same ? (jsonIn(String(same["text"]))?.exact ?? json) : json,
      rest: content.filter((block) => block !== same),
    };
  }
  const texts = content.filter(isText).map((block) => String(block["text"]));
  const rest = content.filter((block) => !isText(block));
  const values = texts.map((text) => jsonIn(text)?.exact ?? JSON.stringify(text));
  return { json: values.length > 1 ? `[${values.join(",")}]` : (values[0] ?? "null"), rest };
}

/** An object or a list in a text: as short as it can be written, and with its numbers as they were. */
function jsonIn(text: string): { readonly compact: string; readonly exact: string } | undefined {
  const trimmed = text.trim();
  if (!/^[{[]/.test(trimmed)) return undefined;
  try {
    const compact = JSON.stringify(JSON.parse(trimmed));
    return { compact, exact: UNSAFE_NUMBER.test(trimmed) ? trimmed : compact };
  } catch {
    return undefined;
  }
}
