import { isJsonObject, type JsonObject } from "../../../core/mod.ts";

/** A tool was executed after a search, on some day. How often on that day does not count: who would be first need only be busy. */
export interface Use {
  /** In days since 1970. */
  readonly day: number;
  /** What was searched for, as {@link digestOf} tells it. */
  readonly digest: string;
  /** The id of the tool. */
  readonly tool: string;
}

/** How much is kept. */
export interface Limits {
  readonly today: number;
  /** Uses older than this many days are dropped. */
  readonly days: number;
  /** Of the rest, so many are kept. */
  readonly uses: number;
}

/** A tool gains nothing more by being used after the same search on more days than this. */
const DAYS_A_PAIR = 8;

/**
 * What is kept of some uses: those that are not too old and, of those, the latest. Whatever was kept of some of
 * them before, and in whatever order they came, it is the same, so processes that share them need no turns.
 */
export function keptUses(uses: readonly Use[], limits: Limits): readonly Use[] {
  const lines = new Map(recentUses(uses, limits).map((use) => [lineOf(use), use]));
  const latest = [...lines].sort(([a, { day }], [b, { day: other }]) => other - day || (a < b ? -1 : 1));
  const daysOf = new Map<string, number>();
  const kept: Use[] = [];
  for (const [, use] of latest) {
    if (kept.length >= limits.uses) break;
    const pair = `${use.digest} ${use.tool}`;
    const counted = daysOf.get(pair) ?? 0;
    daysOf.set(pair, counted + 1);
    if (counted < DAYS_A_PAIR) kept.push(use);
  }
  return kept;
}

/** The uses that are not too old. */
export function recentUses(
  uses: readonly Use[],
  { today, days }: Pick<Limits, "today" | "days">,
): readonly Use[] {
  // A day to come is that of a clock that was wrong, but a clock may well be set back past midnight.
  return uses.filter(({ day }) => day >= today - days && day <= today + 1);
}

/** Uses as they are stored: one text each, because all of them are read for every search. */
export function storedUses(uses: readonly Use[]): JsonObject {
  return { uses: uses.map(lineOf) };
}

/** Reads what was stored; what is something else is not there. */
export function usesIn(value: JsonObject | undefined): readonly Use[] {
  const lines = isJsonObject(value) ? value["uses"] : undefined;
  if (!Array.isArray(lines)) return [];
  return lines.flatMap((line: unknown) => {
    const [, day, digest, tool] = (typeof line === "string" && LINE.exec(line)) || [];
    return day && digest && tool ? [{ day: Number(day), digest, tool }] : [];
  });
}

const LINE = /^(\d{1,6}) (\S+) (.+)$/s;

function lineOf({ day, digest, tool }: Use): string {
  return `${day} ${digest} ${tool}`;
}
