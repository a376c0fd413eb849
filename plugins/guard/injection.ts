import { foreignSigns } from "./_foreign-signs.ts";
import { pairing } from "./_letter-pairs.ts";
import { signs, unseen } from "./_signs.ts";

const orders = [...signs, ...foreignSigns];
const pairedLines = pairing();
const pairedWords = pairing();

/** Which signs of orders to a model there are in a text; none where it only describes. */
export function injectionIn(text: string): string | undefined {
  // An order takes more than one word, unless it is markup or in letters that need no spaces.
  if (!/[^!-;=-Z\\-~]/.test(text)) return undefined;
  const lines = pairedLines(text.toLowerCase());
  const hidden = unseen.find(({ isIn }) => isIn(lines));
  if (hidden) return hidden.what;
  const plain = unwrapped(lines.text);
  const words = plain === lines.text ? lines : pairedWords(plain);
  const weak = new Set<string>();
  for (const { what, isIn, enough } of orders) {
    if (!isIn(words)) continue;
    if (enough) return what;
    weak.add(what);
  }
  return weak.size >= 2 ? [...weak].join(" and ") : undefined;
}

/** Words are understood across lines, and with marks around them that make them stand out. */
function unwrapped(text: string): string {
  if (!/[*_\n\t\r]| {2}/.test(text)) return text;
  return text.replace(/\*+|\b_+|_+\b/g, "").replace(/\s+/g, " ");
}
