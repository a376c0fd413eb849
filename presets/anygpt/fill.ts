import { shorten } from "../../plugins/lib/text/shorten.ts";
import { estimateTokens } from "../../plugins/lib/tokens.ts";

/** A text that may be shown in part. */
export interface Slot {
  readonly text: string;
  /** How many characters of it are shown: at least the first, then as much as there is room for, step by step. */
  readonly lengths: readonly number[];
}

/** Shortens texts so that they take about so many tokens; all take their next step before any takes the one after. */
export function filled(slots: readonly Slot[], tokens: number): string[] {
  const shown = slots.map(({ text, lengths }) => shorten(text, lengths[0] ?? 0));
  let spent = shown.reduce((sum, text) => sum + estimateTokens(text), 0);
  const rounds = Math.max(0, ...slots.map(({ lengths }) => lengths.length));
  for (let round = 1; round < rounds; round++) {
    for (const [index, { text, lengths }] of slots.entries()) {
      const length = lengths[round];
      const now = shown[index] as string;
      if (length === undefined || now === text) continue;
      const longer = shorten(text, length);
      const cost = estimateTokens(longer) - estimateTokens(now);
      if (spent + cost > tokens) continue;
      shown[index] = longer;
      spent += cost;
    }
  }
  return shown;
}
