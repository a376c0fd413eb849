import type { JsonObject } from "../../core/mod.ts";
import { type StateStore, updateState } from "../state/store.ts";
import { arrive, type RateBucket, type RateLimiter, verdictOf } from "./rate.ts";

const GROUP = "rates/";

/**
 * Counts in a store, for all processes that share it. All buckets are looked at before anything is taken; what was
 * taken is given back where somebody else was first in another bucket, so that at times a little less is let
 * through, and never more.
 */
export function stateLimiter(store: StateStore, wall: () => number = Date.now): RateLimiter {
  return {
    async take(buckets, cost = 1) {
      const looked = await Promise.all(
        buckets.map(async (bucket) => {
          const entry = await store.get(GROUP + bucket.name);
          return { bucket, ...arrive(untilOf(entry?.value), wall(), bucket, cost) };
        }),
      );
      const verdict = verdictOf(looked);
      if (!verdict.ok) return verdict;
      const taken: RateBucket[] = [];
      for (const bucket of buckets) {
        const waitMs = await takeOne(bucket, cost);
        if (waitMs === 0) {
          taken.push(bucket);
          continue;
        }
        for (const each of taken) await giveBack(each, cost);
        return verdictOf([{ bucket, waitMs }]);
      }
      return verdict;
    },
  };

  async function takeOne(bucket: RateBucket, cost: number): Promise<number> {
    let waitMs = 0;
    await updateState(store, GROUP + bucket.name, (value) => {
      const arrival = arrive(untilOf(value), wall(), bucket, cost);
      waitMs = arrival.waitMs;
      return waitMs > 0 ? undefined : { until: arrival.until };
    });
    return waitMs;
  }

  async function giveBack({ name, perMs, limit }: RateBucket, cost: number): Promise<void> {
    await updateState(store, GROUP + name, (value) => {
      const until = untilOf(value);
      return until === undefined ? undefined : { until: until - (perMs / limit) * cost };
    });
  }
}

function untilOf(value: JsonObject | undefined): number | undefined {
  const until = value?.["until"];
  return typeof until === "number" ? until : undefined;
}
