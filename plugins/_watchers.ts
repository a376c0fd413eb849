/** Those who ask again and again whether a gateway can be used, such as a load balancer. */
export interface Watchers {
  /** Somebody asks, from this address. */
  ask(from: string): void;
  /** How long all of them need to notice that the answer is another one now; 0 where there are none. */
  noticeMs(): number;
}

/** What is kept of one who asks. */
interface Watcher {
  readonly last: number;
  /** The two last pauses between questions; none of somebody who asked once. */
  readonly pauses: readonly number[];
}

/** By default HAProxy and Kubernetes believe the third bad answer in a row. */
const BAD_ANSWERS = 3;
/** What a balancer needs to act on what it has heard. */
const TO_ACT_MS = 1_000;
/** Nobody who asks more rarely is waited for: the calls that are under way have to be finished too. */
const LONGEST_MS = 15_000;
/** Who has not asked for so long has stopped asking. */
const FORGOTTEN_MS = 60_000;
/** Anybody may ask, from many addresses. */
const MAX_WATCHERS = 64;

/** Keeps in mind who asks, and how often. */
export function createWatchers(now: () => number = () => performance.now()): Watchers {
  const watchers = new Map<string, Watcher>();

  return {
    ask(from) {
      const { last, pauses = [] } = watchers.get(from) ?? {};
      const pause = last === undefined ? FORGOTTEN_MS : now() - last;
      // The one that asked last is the last to be forgotten.
      watchers.delete(from);
      watchers.set(from, {
        last: now(),
        pauses: pause < FORGOTTEN_MS ? [pause, ...pauses.slice(0, 1)] : [],
      });
      const [oldest] = watchers.keys();
      if (watchers.size > MAX_WATCHERS && oldest !== undefined) watchers.delete(oldest);
    },
    noticeMs() {
      const pauses = [...watchers.values()]
        .filter(({ last }) => now() - last < FORGOTTEN_MS)
        .flatMap((watcher) => watcher.pauses);
      if (pauses.length === 0) return 0;
      return Math.min(LONGEST_MS, Math.ceil(BAD_ANSWERS * Math.max(...pauses)) + TO_ACT_MS);
    },
  };
}
