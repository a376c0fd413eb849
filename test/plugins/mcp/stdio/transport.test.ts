import process from "node:process";
import { describe, expect, test } from "vitest";
import { Cancellation } from "../../../../core/mod.ts";
import { faulty, readText } from "../../../support/stdio-servers.ts";
import { until } from "../../../support/until.ts";
import { connected } from "../_stdio.ts";

/** Another pending request on the same connection, which must survive. */
function bystander(upstream: Awaited<ReturnType<typeof connected>>): { survives(): Promise<void> } {
  const cancellation = new Cancellation();
  const call = upstream.call("wait", {}, { cancellation, timeoutMs: 30_000 });
  const ended = call.then(
    () => "answered",
    (error: { code: string }) => error.code,
  );
  return {
    async survives() {
      expect(readText(await upstream.call("echo", { text: "still here" }))).toBe("still here");
      cancellation.cancel();
      expect(await ended).toBe("CANCELLED");
    },
  };
}

describe("the output of a process", () => {
  test("fault 4: a few lines that are no messages are ignored", async () => {
    await using upstream = await connected(faulty("garbage", "--lines", "40"));
    expect(readText(await upstream.call("fault", {}))).toBe("clean");
    // Empty lines are not worth counting.
    expect(upstream.health()).toMatchObject({ degraded: false, counters: { noise: 30 } });
  });

  test("fault 4: more than a hundred of them mark the server as degraded, and it still works", async () => {
    await using upstream = await connected(faulty("garbage", "--lines", "400"));
    expect(readText(await upstream.call("fault", {}))).toBe("clean");
    expect(upstream.health()).toMatchObject({ degraded: true, counters: { noise: 300 } });
    expect(readText(await upstream.call("echo", { text: "on" }))).toBe("on");
  });

  test("fault 4: a banner before the handshake does no harm", async () => {
    await using upstream = await connected(faulty("banner"));
    expect(readText(await upstream.call("echo", { text: "on" }))).toBe("on");
  });

  test("fault 5: an answer that is not UTF-8 fails its call, and the connection is kept", async () => {
    await using upstream = await connected(faulty("utf8"));
    const other = bystander(upstream);
    await expect(upstream.call("fault", {})).rejects.toMatchObject({ code: "UPSTREAM_PROTOCOL" });
    expect(upstream.health().counters.notText).toBe(1);
    await other.survives();
  });

  test("fault 6: half an answer and then silence is a time-out of that call alone", async () => {
    await using upstream = await connected(faulty("partial"));
    const call = upstream.call("fault", {}, { timeoutMs: 300 });
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
    // The rest of the line is lost with it; then the connection works as before.
    await upstream.call("echo", { text: "lost" }, { timeoutMs: 300 }).catch(() => {});
    expect(readText(await upstream.call("echo", { text: "found" }))).toBe("found");
  });

  test("fault 7: an answer that comes byte by byte is ended by the total time, not the silence between", async () => {
    await using upstream = await connected(faulty("slowloris"));
    const began = performance.now();
    const call = upstream.call("fault", {}, { timeoutMs: 1_000 });
    await expect(call).rejects.toMatchObject({ code: "TIMEOUT" });
    const took = performance.now() - began;
    expect(took).toBeGreaterThan(900);
    expect(took).toBeLessThan(10_000);
  });

  test.for([{ idFirst: true }, { idFirst: false }])(
    "fault 8: an answer of 100 MB fails its call alone and costs less than 30 MB ($idFirst)",
    { timeout: 60_000 },
    async ({ idFirst }) => {
      await using upstream = await connected(faulty("big"));
      const other = bystander(upstream);
      await upstream.call("echo", { text: "warm" });
      const before = process.memoryUsage().rss;
      let peak = before;
      const timer = setInterval(() => {
        peak = Math.max(peak, process.memoryUsage().rss);
      }, 2);
      const call = upstream.call("fault", { size: 100_000_000, idFirst }, { timeoutMs: 50_000 });
      await expect(call).rejects.toMatchObject({ code: "RESPONSE_TOO_LARGE" });
      clearInterval(timer);
      expect(peak - before).toBeLessThan(30_000_000);
      await other.survives();
    },
  );

  test("an answer just below the cap arrives whole", async () => {
    const limits = { maxBytes: 3_000_000, maxDepth: 64 };
    await using upstream = await connected(faulty("big"), { limits });
    const result = await upstream.call("fault", { size: 2_000_000, idFirst: true });
    expect(readText(result)).toHaveLength('"id":98,'.length + 2_000_000);
    await expect(upstream.call("fault", { size: 3_000_000 })).rejects.toMatchObject({
      code: "RESPONSE_TOO_LARGE",
    });
  });

  test("an answer nested too deep fails its call alone, before it is parsed", async () => {
    await using upstream = await connected(faulty("deep"));
    const other = bystander(upstream);
    for (const depth of [63, 10_000, 1_000_000]) {
      await expect(upstream.call("fault", { depth })).rejects.toMatchObject({ code: "RESPONSE_TOO_DEEP" });
    }
    await expect(upstream.call("fault", { depth: 62 })).resolves.toMatchObject({ content: [] });
    expect(upstream.health().counters.tooDeep).toBe(3);
    await other.survives();
  });

  test("fault 11: of two answers to one request the first counts", async () => {
    await using upstream = await connected(faulty("dup"));
    expect(readText(await upstream.call("fault", {}))).toBe("first");
    expect(readText(await upstream.call("echo", { text: "mine" }))).toBe("mine");
    expect(upstream.health().counters.unmatched).toBe(1);
  });

  test("fault 12: an answer with a wrong id reaches no caller, not even if it is the right one as a string", async () => {
    await using upstream = await connected(faulty("wrongid"));
    const other = bystander(upstream);
    expect(readText(await upstream.call("fault", {}))).toBe("right");
    expect(upstream.health().counters.unmatched).toBe(8);
    await other.survives();
  });

  test("an answer after the cancellation of its call reaches no caller", async () => {
    await using upstream = await connected(faulty("late"));
    await expect(upstream.call("fault", {}, { timeoutMs: 20 })).rejects.toMatchObject({ code: "TIMEOUT" });
    await until(() => upstream.health().counters.unmatched === 1);
    expect(readText(await upstream.call("echo", { text: "mine" }))).toBe("mine");
  });

  test("fault 14: a flood on the error output is drained, and calls are answered meanwhile", async () => {
    await using upstream = await connected(faulty("stderrflood"));
    await upstream.call("fault", {});
    const began = performance.now();
    for (let round = 0; round < 20; round++) await upstream.call("echo", { text: "through" });
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(upstream.health().stderr).toHaveLength(65_536);
  });

  test("keys that reach a prototype fail the call, and nothing is polluted", async () => {
    await using upstream = await connected(faulty("forbidden"));
    await expect(upstream.call("fault", {})).rejects.toMatchObject({ code: "FORBIDDEN_KEY" });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
    expect(upstream.health().counters.forbidden).toBe(1);
  });

  test("an answer in a list of messages is understood", async () => {
    await using upstream = await connected(faulty("batch"));
    expect(readText(await upstream.call("fault", {}))).toBe("batched");
  });

  const malformed: [unknown, object][] = [
    [{}, { code: "UPSTREAM_PROTOCOL" }],
    [{ result: "text" }, { code: "UPSTREAM_PROTOCOL" }],
    [{ result: null }, { code: "UPSTREAM_PROTOCOL" }],
    [{ error: "broken" }, { code: "UPSTREAM_ERROR", message: expect.stringContaining("broken") }],
    [{ error: { code: "E1", message: "broken" } }, { code: "UPSTREAM_ERROR", data: { rpcCode: -32603 } }],
    [{ error: { code: 1 } }, { code: "UPSTREAM_ERROR" }],
    [{ error: [] }, { code: "UPSTREAM_ERROR" }],
  ];
  test.for(malformed)("the answer %j ends the call at once", async ([answer, error]) => {
    await using upstream = await connected(faulty("malformed"));
    await expect(upstream.call("fault", { answer }, { timeoutMs: 5_000 })).rejects.toMatchObject(error);
  });

  test("an answer with unknown keys is taken all the same", async () => {
    await using upstream = await connected(faulty("malformed"));
    const answer = { result: { content: [] }, extra: 1, error: null };
    await expect(upstream.call("fault", { answer }, { timeoutMs: 5_000 })).resolves.toEqual({ content: [] });
  });
});
