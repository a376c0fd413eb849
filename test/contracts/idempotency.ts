import { describe, expect, test } from "vitest";
import type { Beginning, Idempotency } from "../../plugins/guard/mod.ts";

/** An idempotency store with a clock that the test moves. */
export interface IdempotencyUnderTest {
  readonly idempotency: Idempotency;
  /** Lets time pass. */
  pass(ms: number): void;
  /** Sets the clock on the wall forward or back; no time passes. */
  setClock(ms: number): void;
  /** The calls as seen by another process that shares the store; absent where none can. */
  readonly another?: Idempotency | undefined;
}

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

const call = (key: string, rest: Partial<Beginning> = {}): Beginning => ({
  key,
  fingerprint: "this call",
  deadlineMs: MINUTE_MS,
  ...rest,
});

/** The fence of a call that must have begun. */
async function getFence(idempotency: Idempotency, beginning: Beginning): Promise<string> {
  const begun = await idempotency.begin(beginning);
  if (begun.state !== "begun") throw new Error(`It was expected to begin, but is ${begun.state}.`);
  return begun.fence;
}

/** The contract of every idempotency store. `make` returns a new, empty one. */
export function idempotencyContract(name: string, make: () => Promise<IdempotencyUnderTest>): void {
  describe(`idempotency in ${name}`, () => {
    test("a call that has begun is in progress for all other callers", async () => {
      const { idempotency, another = idempotency } = await make();
      await getFence(idempotency, call("k"));
      expect(await idempotency.begin(call("k"))).toEqual({ state: "in progress" });
      expect(await another.begin(call("k"))).toEqual({ state: "in progress" });
    });

    test("of many that begin one key at the same time, one does", async () => {
      const { idempotency, another = idempotency } = await make();
      const tries = Array.from({ length: 30 }, (_, index) =>
        (index % 2 ? another : idempotency).begin(call("k")),
      );
      const states = (await Promise.all(tries)).map(({ state }) => state);
      expect(states.filter((state) => state === "begun")).toHaveLength(1);
      expect(states.filter((state) => state === "in progress")).toHaveLength(29);
    });

    test("a completed call is answered as it was, and an error too", async () => {
      const { idempotency, another = idempotency } = await make();
      const outcome = { result: '{"content":[],"b":1,"a":"\\u2028"}' };
      const kind = { code: "X", spec: "X", rpc: -32603, exit: 3, retry: false };
      const error = { error: { kind, message: "No.", data: { rpcCode: 7 } } };
      expect(await idempotency.complete("a", await getFence(idempotency, call("a")), outcome)).toBe(true);
      expect(await idempotency.complete("b", await getFence(idempotency, call("b")), error)).toBe(true);
      expect(await another.begin(call("a"))).toEqual({ state: "completed", outcome });
      expect(await another.begin(call("b"))).toEqual({ state: "completed", outcome: error });
    });

    test("a key that was used for another call is told so, whatever became of that one", async () => {
      const { idempotency } = await make();
      const other = { fingerprint: "another call" };
      const fences = {
        begun: await getFence(idempotency, call("begun")),
        lost: await getFence(idempotency, call("lost")),
        done: await getFence(idempotency, call("done")),
      };
      await idempotency.lose("lost", fences.lost);
      await idempotency.complete("done", fences.done, { result: "{}" });
      for (const key of Object.keys(fences)) {
        expect(await idempotency.begin(call(key, other))).toEqual({ state: "mismatch" });
      }
      expect(await idempotency.begin(call("fresh", other))).toMatchObject({ state: "begun" });
    });

    test("where nothing was sent, the key is as if it had never been used", async () => {
      const { idempotency } = await make();
      expect(await idempotency.release("k", await getFence(idempotency, call("k")))).toBe(true);
      await getFence(idempotency, call("k", { fingerprint: "another call" }));
    });

    test("a lost call is never begun again, and may still be completed by who began it", async () => {
      const { idempotency, pass } = await make();
      const fence = await getFence(idempotency, call("k"));
      await idempotency.lose("k", fence);
      pass(400 * DAY_MS);
      expect(await idempotency.begin(call("k"))).toEqual({ state: "unknown" });
      expect(await idempotency.complete("k", fence, { result: "{}" })).toBe(true);
      expect(await idempotency.begin(call("k"))).toMatchObject({ state: "completed" });
    });

    test("a call whose time is up is lost, but not a moment earlier", async () => {
      const { idempotency, pass } = await make();
      const fence = await getFence(idempotency, call("k"));
      pass(MINUTE_MS - 1);
      expect(await idempotency.begin(call("k"))).toEqual({ state: "in progress" });
      pass(1);
      expect(await idempotency.begin(call("k"))).toEqual({ state: "unknown" });
      expect(await idempotency.complete("k", fence, { result: "{}" })).toBe(true);
    });

    test("a lost call is begun again where that is safe, and then its first owner has no say in it", async () => {
      const { idempotency } = await make();
      const first = await getFence(idempotency, call("k"));
      await idempotency.lose("k", first);
      const second = await getFence(idempotency, call("k", { retrySafe: true }));
      expect(await idempotency.complete("k", first, { result: '"stale"' })).toBe(false);
      expect(await idempotency.release("k", first)).toBe(false);
      expect(await idempotency.lose("k", first)).toBe(false);
      expect(await idempotency.complete("k", second, { result: '"fresh"' })).toBe(true);
      expect(await idempotency.begin(call("k"))).toMatchObject({ outcome: { result: '"fresh"' } });
    });

    test("does not begin a pending call again, even where that were safe", async () => {
      const { idempotency } = await make();
      await getFence(idempotency, call("k"));
      expect(await idempotency.begin(call("k", { retrySafe: true }))).toEqual({ state: "in progress" });
    });

    test("a completed call does not change", async () => {
      const { idempotency } = await make();
      const fence = await getFence(idempotency, call("k"));
      await idempotency.complete("k", fence, { result: '"first"' });
      expect(await idempotency.complete("k", fence, { result: '"second"' })).toBe(false);
      expect(await idempotency.release("k", fence)).toBe(false);
      expect(await idempotency.lose("k", fence)).toBe(false);
      expect(await idempotency.begin(call("k"))).toMatchObject({ outcome: { result: '"first"' } });
    });

    test("fault 43: a completed call is replayed for 24 hours to the moment, then the key is free", async () => {
      const { idempotency, pass } = await make();
      await idempotency.complete("k", await getFence(idempotency, call("k")), { result: "{}" });
      pass(DAY_MS - 1);
      expect(await idempotency.begin(call("k"))).toMatchObject({ state: "completed" });
      await idempotency.sweep();
      expect(await idempotency.begin(call("k"))).toMatchObject({ state: "completed" });
      pass(1);
      await getFence(idempotency, call("k", { fingerprint: "another call" }));
    });

    test("fault 43: setting the clock by a day makes nothing expire, and nothing late", async () => {
      for (const ms of [DAY_MS, -DAY_MS]) {
        const { idempotency, setClock } = await make();
        const fence = await getFence(idempotency, call("pending"));
        await idempotency.complete("done", await getFence(idempotency, call("done")), { result: "{}" });
        await idempotency.lose("lost", await getFence(idempotency, call("lost")));
        setClock(ms);
        await idempotency.sweep();
        expect(await idempotency.begin(call("pending"))).toEqual({ state: "in progress" });
        expect(await idempotency.begin(call("done"))).toMatchObject({ state: "completed" });
        expect(await idempotency.begin(call("lost"))).toEqual({ state: "unknown" });
        expect(await idempotency.complete("pending", fence, { result: "{}" })).toBe(true);
      }
    });

    test("sweeping removes what is no longer replayed, and nothing else", async () => {
      const { idempotency, pass } = await make();
      await idempotency.complete("old", await getFence(idempotency, call("old")), { result: "{}" });
      await idempotency.lose("lost", await getFence(idempotency, call("lost")));
      pass(DAY_MS);
      await idempotency.complete("new", await getFence(idempotency, call("new")), { result: "{}" });
      await idempotency.sweep();
      await getFence(idempotency, call("old", { fingerprint: "another call" }));
      expect(await idempotency.begin(call("lost"))).toEqual({ state: "unknown" });
      expect(await idempotency.begin(call("new"))).toMatchObject({ state: "completed" });
    });
  });
}
