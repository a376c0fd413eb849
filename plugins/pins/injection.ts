import { orders, unseen } from "./signs.ts";

/** Names the signs of orders to a model in a text; undefined if the text only describes. */
export function findInjection(text: string): string | undefined {
  // An order takes more than one word, unless it is markup or in a script that needs no spaces.
  if (!/[^!-;=-Z\\-~]/.test(text)) return undefined;
  const lower = text.toLowerCase();
  const hidden = unseen.find(({ isIn }) => isIn(lower));
  if (hidden) return hidden.what;
  const words = unwrap(lower);
  const weak = new Set<string>();
  for (const { what, isIn, isEnough } of orders) {
    if (!isIn(words)) continue;
    if (isEnough) return what;
    weak.add(what);
  }
  return weak.size >= 2 ? [...weak].join(" and ") : undefined;
}

/** Joins lines, and removes marks of emphasis: a model understands words across both. */
function unwrap(text: string): string {
  if (!/[*_\n\t\r]| {2}/.test(text)) return text;
  return text.replace(/\*+|\b_+|_+\b/g, "").replace(/\s+/g, " ");
}
