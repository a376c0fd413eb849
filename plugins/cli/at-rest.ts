import type { Plugin } from "../../core/mod.ts";

/** Nothing was called for so long: whoever works has paused. */
const REST_MS = 5_000;
/** A collection of everything takes some hundredths of a second, and those who pause often have little to give back. */
const BETWEEN_MS = 60_000;

/**
 * Calls back when a gateway has come to rest after calls, though not too often. Gateways wait beside people's editors all
 * day, several of them, and V8 keeps what a busy minute took: without this 160 MB after 30,000 calls, with it 90.
 */
export function atRest(
  giveBack: () => void,
  {
    restMs = REST_MS,
    betweenMs = BETWEEN_MS,
  }: { readonly restMs?: number; readonly betweenMs?: number } = {},
): Plugin {
  let calls = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let before = Number.NEGATIVE_INFINITY;
  const wait = (ms: number): void => {
    timer = setTimeout(look, ms);
    timer.unref?.();
  };
  const look = (): void => {
    const waitMs = calls > 0 ? restMs : before + betweenMs - performance.now();
    calls = 0;
    timer = undefined;
    if (waitMs > 0) wait(waitMs);
    else {
      before = performance.now();
      giveBack();
    }
  };
  return {
    name: "at-rest",
    setup: () => ({
      audit() {
        calls++;
        if (!timer) wait(restMs);
      },
      close: () => clearTimeout(timer),
    }),
  };
}

/** Collects all garbage and gives the room it took to the machine, where the runtime can be made to. */
export async function giveMemoryBack(): Promise<void> {
  try {
    const [v8, vm] = await Promise.all([import("node:v8"), import("node:vm")]);
    v8.setFlagsFromString("--expose-gc");
    const collect: unknown = vm.runInNewContext("gc");
    if (typeof collect !== "function") return;
    // The flavour that also lets go of the room that is kept for what comes next. To Node 20, anything said here means
    // the smallest collection there is.
    if (Number.parseInt(process.versions.node, 10) < 22) collect();
    else collect({ type: "major", flavor: "last-resort" });
  } catch {
    // Another runtime has ways of its own.
  }
}
