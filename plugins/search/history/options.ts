import * as v from "valibot";

/** How much is remembered of what searches led to. What is left out is as in {@link historyDefaults}. */
export interface HistoryOptions {
  /** A tool that is executed within so many minutes was found by the search before it. */
  readonly minutes?: number | undefined;
  /** What was not used again is forgotten after so many days. */
  readonly days?: number | undefined;
  /** So many uses are remembered of one actor; the oldest are forgotten first. */
  readonly uses?: number | undefined;
}

/** What is remembered unless told otherwise. */
export const historyDefaults: { readonly [Name in keyof HistoryOptions]-?: number } = {
  minutes: 10,
  days: 90,
  uses: 2_000,
};

function count(most: number): v.GenericSchema<number> {
  const range = `a whole number from 1 to ${most}`;
  return v.pipe(v.number(), v.integer(range), v.minValue(1, range), v.maxValue(most, range));
}

/** Checks {@link HistoryOptions}; whether there is a history at all may stand in their place. */
export const historyOptions: v.GenericSchema<boolean | HistoryOptions> = v.union(
  [
    v.boolean(),
    v.strictObject({
      minutes: v.optional(count(24 * 60)),
      days: v.optional(count(3_650)),
      uses: v.optional(count(20_000)),
    }),
  ],
  "true, false, or how much is remembered (minutes, days, uses)",
);
