import { likeness } from "./digest.ts";
import type { Use } from "./uses.ts";

/** What is less alike than this has nothing to say: "create an issue" and "delete an issue" are one third alike. */
const LEAST_LIKENESS = 0.5;
/** A use counts half after so many days. */
const HALF_LIFE = 30;
/** So many uses of today, after the very same query, give half of what can be given. */
const HALF_FULL = 0.5;

/** How much each tool is raised for a query, by its id: above 0, and below 1 however often it was used. */
export function boostsOf(digest: string, uses: readonly Use[], today: number): ReadonlyMap<string, number> {
  const sums = new Map<string, number>();
  if (digest === "") return sums;
  const alike = likeness(digest);
  const known = new Map<string, number>();
  for (const { day, digest: other, tool } of uses) {
    const share = known.get(other) ?? alike(other);
    known.set(other, share);
    if (share <= LEAST_LIKENESS) continue;
    const weight = share * share * 0.5 ** (Math.max(0, today - day) / HALF_LIFE);
    sums.set(tool, (sums.get(tool) ?? 0) + weight);
  }
  return new Map([...sums].map(([tool, sum]) => [tool, sum / (sum + HALF_FULL)]));
}
