/** Fences of code and rules of tables, which state nothing. */
const STRUCTURE = /^\s*(```\w*|\|[\s|:-]+\||---+)\s*$/;

/** Parses line numbers such as `"12-14, 20"`. Throws where they make no sense. */
export function parseLines(lines: string): number[] {
  return lines.split(",").flatMap((part) => {
    const [, first, last = first] = /^\s*(\d+)(?:-(\d+))?\s*$/.exec(part) ?? [];
    const from = Number(first);
    const to = Number(last);
    if (!(from >= 1 && to >= from)) throw new Error(`"${lines}" are no lines; write "12-14, 20".`);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}

/** Lists lines that belong to no row and are no prose, that are both, or that do not exist. */
export function checkLines(text: string, rows: readonly string[], prose: readonly string[]): string[] {
  const lines = text.split(/\r?\n/);
  const inRows = new Set(rows.flatMap(parseLines));
  const inProse = new Set(prose.flatMap(parseLines));
  const missing = [...inRows, ...inProse].filter((number) => number > lines.length);
  return [
    ...missing.map((number) => `${number}: there is no such line`),
    ...lines.flatMap((line, index) => {
      const number = index + 1;
      if (line.trim() === "" || STRUCTURE.test(line)) return [];
      if (inRows.has(number) && inProse.has(number)) return [`${number}: in a row, and marked as prose`];
      if (inRows.has(number) || inProse.has(number)) return [];
      return [`${number}: in no row, and not marked as prose: ${line.trim()}`];
    }),
  ];
}
