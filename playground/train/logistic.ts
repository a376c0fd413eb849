/** A training example of the logistic model. */
export interface Example {
  /** The first of them is 1, for what holds whatever the others are. */
  readonly terms: readonly number[];
  readonly isRight: boolean;
  readonly weight: number;
}

/** Keeps a weight small that little speaks for. */
const RIDGE = 1e-4;
const STEPS = 30;

/** The weights under which the examples are most likely, by Newton's method. */
export function fitLogistic(examples: readonly Example[]): number[] {
  const size = examples[0]?.terms.length ?? 0;
  const total = examples.reduce((sum, { weight }) => sum + weight, 0);
  const weights = new Array<number>(size).fill(0);
  for (let step = 0; step < STEPS; step++) {
    const slope = weights.map((weight, at) => (at === 0 ? 0 : RIDGE * weight));
    const curve = weights.map((_, row) => weights.map((__, column) => (row === column ? RIDGE : 0)));
    for (const { terms, isRight, weight } of examples) {
      const sum = terms.reduce((so, term, at) => so + term * (weights[at] ?? 0), 0);
      const chance = 1 / (1 + Math.exp(-sum));
      const share = weight / total;
      for (let row = 0; row < size; row++) {
        const term = terms[row] ?? 0;
        slope[row] = (slope[row] ?? 0) + share * (chance - Number(isRight)) * term;
        const line = curve[row] as number[];
        for (let column = 0; column < size; column++)
          line[column] = (line[column] ?? 0) + share * chance * (1 - chance) * term * (terms[column] ?? 0);
      }
    }
    const change = solve(curve, slope);
    for (let at = 0; at < size; at++) weights[at] = (weights[at] ?? 0) - (change[at] ?? 0);
  }
  return weights;
}

/** Solves a small system of linear equations by elimination with pivots. */
function solve(matrix: readonly (readonly number[])[], right: readonly number[]): number[] {
  const rows = matrix.map((row, at) => [...row, right[at] ?? 0]);
  const size = rows.length;
  for (let column = 0; column < size; column++) {
    let pivot = column;
    for (let row = column; row < size; row++)
      if (Math.abs(rows[row]?.[column] ?? 0) > Math.abs(rows[pivot]?.[column] ?? 0)) pivot = row;
    [rows[column], rows[pivot]] = [rows[pivot] as number[], rows[column] as number[]];
    const own = rows[column] as number[];
    const lead = own[column] || 1e-12;
    for (let row = 0; row < size; row++) {
      if (row === column) continue;
      const line = rows[row] as number[];
      const factor = (line[column] ?? 0) / lead;
      for (let at = column; at <= size; at++) line[at] = (line[at] ?? 0) - factor * (own[at] ?? 0);
    }
  }
  return rows.map((row, at) => (row[size] ?? 0) / (row[at] || 1e-12));
}
