/**
 * The time that the shortest of a few runs takes of the processor, in milliseconds. What else the machine does
 * is not counted, or only ever makes a run longer.
 */
export function shortest(run: () => void, runs = 5): number {
  let best = Number.POSITIVE_INFINITY;
  for (let count = 0; count < runs; count++) {
    const begun = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(begun);
    best = Math.min(best, (user + system) / 1_000);
  }
  return best;
}
