/** Of a page, this much at its end may be given up for it to end with a line. */
const LINE_SHARE = 0.2;

const encoder = new TextEncoder();

/**
 * Where a page of a text ends that begins at `start` and has at most `maxBytes` bytes: after a line if one ends
 * near, and never within a character. At least one character is taken, so that reading on comes to an end.
 */
export function endOfPage(text: string, start: number, maxBytes: number): number {
  const rest = text.slice(start, start + Math.max(1, maxBytes));
  const { read } = encoder.encodeInto(rest, new Uint8Array(Math.max(1, maxBytes)));
  const end = whole(text, start + read);
  if (end >= text.length) return text.length;
  if (end <= start) return start + ((text.codePointAt(start) ?? 0) > 0xffff ? 2 : 1);
  const line = text.lastIndexOf("\n", end - 1) + 1;
  return line > start + (end - start) * (1 - LINE_SHARE) ? line : end;
}

/** The same place, or the one before it where it would be between the two halves of a character. */
export function whole(text: string, at: number): number {
  const place = Math.min(at, text.length);
  const isWithin = isHalf(text, place - 1, 0xd800) && isHalf(text, place, 0xdc00);
  return isWithin ? place - 1 : place;
}

function isHalf(text: string, at: number, first: number): boolean {
  const code = text.charCodeAt(at);
  return code >= first && code < first + 0x400;
}
