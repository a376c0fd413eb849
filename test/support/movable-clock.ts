/** A clock that the test moves. */
export function movable(): { now: () => number; pass: (ms: number) => void } {
  let now = 1_000_000;
  return {
    now: () => now,
    pass: (ms) => {
      now += ms;
    },
  };
}
