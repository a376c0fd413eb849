/** The calls of one step of time. */
interface Step {
  /** The number of the step since 1970. */
  readonly at: number;
  calls: number;
  errors: number;
  /** Numbers of calls by duration, see {@link toBin}. */
  readonly bins: Uint32Array;
}

/** Metrics over time, oldest first: one value per step, null without calls. */
export interface Series {
  readonly stepMs: number;
  /** The start of the first step, in milliseconds since 1970. */
  readonly from: number;
  readonly calls: readonly number[];
  readonly errors: readonly number[];
  /** The median duration in milliseconds. */
  readonly p50: readonly (number | null)[];
  /** The 95th percentile of the duration in milliseconds. */
  readonly p95: readonly (number | null)[];
}

const STEP_MS = 10_000;
const STEPS = 180;
/** Bins are a quarter of a doubling wide, from a sixteenth of a millisecond; half an hour is in the last. */
const PER_DOUBLING = 4;
const FIRST = 4;
const BINS = 100;

/** Creates an empty timeline. Its memory does not depend on the number of calls. */
export function createTimeline(now: () => number = Date.now) {
  const steps: Step[] = [];
  return {
    add(durationMs: number, isError: boolean): void {
      const at = Math.floor(now() / STEP_MS);
      let last = steps.at(-1);
      // The clock may be set back; calls then count in the last step.
      if (!last || at > last.at) {
        last = { at, calls: 0, errors: 0, bins: new Uint32Array(BINS) };
        steps.push(last);
        if (steps.length > STEPS) steps.shift();
      }
      last.calls++;
      if (isError) last.errors++;
      const bin = toBin(durationMs);
      last.bins[bin] = (last.bins[bin] ?? 0) + 1;
    },
    series(): Series {
      const end = Math.floor(now() / STEP_MS);
      const first = end - STEPS + 1;
      const known = new Map(steps.map((step) => [step.at, step]));
      const all = Array.from({ length: STEPS }, (_, index) => known.get(first + index));
      return {
        stepMs: STEP_MS,
        from: first * STEP_MS,
        calls: all.map((step) => step?.calls ?? 0),
        errors: all.map((step) => step?.errors ?? 0),
        p50: all.map((step) => quantile(step, 0.5)),
        p95: all.map((step) => quantile(step, 0.95)),
      };
    },
  };
}

function toBin(ms: number): number {
  const bin = Math.ceil((Math.log2(Math.max(ms, Number.MIN_VALUE)) + FIRST) * PER_DOUBLING);
  return Math.min(Math.max(bin, 0), BINS - 1);
}

/** Returns the upper edge of the bin, so that the value is never too low. */
function quantile(step: Step | undefined, share: number): number | null {
  if (!step || step.calls === 0) return null;
  let left = Math.ceil(step.calls * share);
  const bin = step.bins.findIndex((count) => {
    left -= count;
    return left <= 0;
  });
  return 2 ** ((bin < 0 ? BINS - 1 : bin) / PER_DOUBLING - FIRST);
}
