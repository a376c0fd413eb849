/** One thing to measure. */
export interface Subject {
  readonly name: string;
  /** Does the thing `times` times. */
  run(times: number): Promise<void>;
}

/** CPU microseconds a repetition, by subject. */
export type Measurements = ReadonlyMap<string, number>;

/**
 * Measures CPU time, not wall time, in rounds that take every subject in turn: a machine that is busy with
 * something else then distorts neither the times nor their ratios. The median of the rounds counts.
 */
export async function measure(
  subjects: readonly Subject[],
  times: number,
  rounds: number,
): Promise<Measurements> {
  const samples = new Map<string, number[]>(subjects.map(({ name }) => [name, []]));
  for (const { run } of subjects) await run(times);
  for (let round = 0; round < rounds; round++) {
    for (const { name, run } of subjects) {
      const before = process.cpuUsage();
      await run(times);
      const { user, system } = process.cpuUsage(before);
      samples.get(name)?.push((user + system) / times);
    }
  }
  return new Map([...samples].map(([name, values]) => [name, median(values)]));
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;
}

/** Prints the measurements as a Markdown table, each beside its ratio to the baseline. */
export function printTable(measurements: Measurements, baseline: string, unit: string): void {
  const base = measurements.get(baseline) ?? Number.NaN;
  const width = Math.max(...[...measurements.keys()].map((name) => name.length));
  const rows = [...measurements].map(
    ([name, value]) =>
      `| ${name.padEnd(width)} | ${value.toFixed(2).padStart(10)} | ${(value / base).toFixed(2).padStart(8)} |`,
  );
  const head = `| ${"".padEnd(width)} | ${unit.padStart(10)} | × ${"base".padStart(6)} |`;
  const rule = `|${"-".repeat(width + 2)}|${"-".repeat(11)}:|${"-".repeat(9)}:|`;
  process.stdout.write(`${[head, rule, ...rows].join("\n")}\nbase: ${baseline}\n`);
}
