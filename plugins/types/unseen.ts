/**
 * Signs that a reader of a file does not see, but a program or an editor may act on: controls, marks that turn the
 * direction of a line or hide a text in it, halves of signs, odd ends of lines.
 */
export const UNSEEN: RegExp = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/** Such a sign as most languages write it in a text. */
export function escapeOf(sign: string): string {
  return Array.from({ length: sign.length }, (_, index) => {
    return `\\u${sign.charCodeAt(index).toString(16).padStart(4, "0")}`;
  }).join("");
}
