import type { Clock } from "../../../core/services/state.ts";

/** A clock that stands still until the test moves it. */
export interface TestClock extends Clock {
  pass(ms: number): void;
  setClock(ms: number): void;
}

/** Makes a clock for a test. */
export function testClock(): TestClock {
  let [wall, steady] = [1_800_000_000_000, 5_000];
  return {
    boot: "this boot",
    wall: () => wall,
    steady: () => steady,
    pass(ms) {
      wall += ms;
      steady += ms;
    },
    setClock(ms) {
      wall += ms;
    },
  };
}
