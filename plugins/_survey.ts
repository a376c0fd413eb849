/** What there is in arguments. */
export interface Survey {
  /** How many values. */
  readonly values: number;
  readonly longestList: number;
  /** Every name of a property, wherever it is. */
  readonly keys: ReadonlySet<string>;
}

/** Looks through arguments once. They are within the limits of the core, so it may go as deep as they do. */
export function survey(args: unknown): Survey {
  const keys = new Set<string>();
  let values = 0;
  let longestList = 0;
  visit(args);
  return { values, longestList, keys };

  function visit(value: unknown): void {
    values++;
    if (typeof value !== "object" || value === null) return;
    if (Array.isArray(value)) {
      longestList = Math.max(longestList, value.length);
      for (const item of value) visit(item);
      return;
    }
    for (const [key, inner] of Object.entries(value)) {
      keys.add(key);
      visit(inner);
    }
  }
}
