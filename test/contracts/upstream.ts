import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { Cancellation, type Progress } from "../../core/mod.ts";
import type { Upstream, UpstreamEvents } from "../../core/services/servers.ts";

/**
 * The contract of every upstream, whatever its transport. The server behind it has at least these tools:
 * - `echo`: answers the text it is given in `text`;
 * - `fail`: answers with `isError` and the text "It did not work.";
 * - `steps`: reports progress 1, 2 and 3 of 3, with the messages "step 1" and so on, and answers "done";
 * - `wait`: never answers;
 * - `change`: announces that the list of tools has changed, and answers.
 *
 * One that does not speak MCP has no protocol version.
 */
export function upstreamContract(
  name: string,
  open: (events: UpstreamEvents) => Promise<Upstream>,
  { speaksMcp = true } = {},
): void {
  describe(`an upstream over ${name}`, () => {
    // Most tests share one connection, as callers do.
    let upstream: Upstream;
    beforeAll(async () => {
      upstream = await open({});
    });
    afterAll(() => upstream.close());

    const opened = async (events: UpstreamEvents = {}): Promise<Upstream> => {
      const own = await open(events);
      onTestFinished(() => own.close());
      return own;
    };

    test("says who the server is", () => {
      const { info } = upstream;
      expect(info.name).toMatch(/./);
      if (speaksMcp) expect(info.protocolVersion).toMatch(/^\d{4}-\d\d-\d\d$/);
      else expect(info.protocolVersion).toBeUndefined();
    });

    test("lists the tools, twice the same", async () => {
      const listing = await upstream.list();
      expect(listing.rejected).toEqual([]);
      expect(listing.tools.map((tool) => tool.name)).toEqual(
        expect.arrayContaining(["echo", "fail", "steps", "wait", "change"]),
      );
      const echo = listing.tools.find((tool) => tool.name === "echo");
      expect(echo).toMatchObject({
        description: "Says what it is told",
        inputSchema: { type: "object", properties: { text: { type: "string" } } },
      });
      expect(await upstream.list()).toEqual(listing);
    });

    test("calls a tool and returns its result", async () => {
      const result = await upstream.call("echo", { text: "hello, wörld 🌍" });
      expect(result.content).toEqual([{ type: "text", text: "hello, wörld 🌍" }]);
      expect(result.isError ?? false).toBe(false);
    });

    test("gives each of many calls at once its own answer", async () => {
      const texts = Array.from({ length: 30 }, (_, index) => `call ${index}`);
      const results = await Promise.all(texts.map((text) => upstream.call("echo", { text })));
      expect(results.map((result) => result.content[0]?.["text"])).toEqual(texts);
    });

    test("returns the failure of a tool as a result", async () => {
      const result = await upstream.call("fail", {});
      expect(result).toMatchObject({ isError: true, content: [{ type: "text", text: "It did not work." }] });
    });

    test("passes progress on, all of it and in order, before the answer", async () => {
      const seen: Progress[] = [];
      const result = await upstream.call("steps", {}, { onProgress: (progress) => seen.push(progress) });
      expect(result.content).toEqual([{ type: "text", text: "done" }]);
      expect(seen).toEqual([1, 2, 3].map((step) => ({ progress: step, total: 3, message: `step ${step}` })));
    });

    test("ends a cancelled call at once, and no other", async () => {
      const cancellation = new Cancellation();
      const call = upstream.call("wait", {}, { cancellation, timeoutMs: 15_000 });
      const other = upstream.call("wait", {}, { timeoutMs: 400 });
      setTimeout(() => cancellation.cancel(), 50);
      await expect(call).rejects.toMatchObject({ name: "GatewayError", code: "CANCELLED" });
      await expect(upstream.call("echo", { text: "on" })).resolves.toBeTruthy();
      await expect(other).rejects.toMatchObject({ code: "TIMEOUT" });
    });

    test("does not start a call that is already cancelled", async () => {
      const cancellation = new Cancellation();
      cancellation.cancel();
      const call = upstream.call("echo", { text: "never" }, { cancellation });
      await expect(call).rejects.toMatchObject({ name: "GatewayError", code: "CANCELLED" });
    });

    test("ends a call that takes too long, whatever is reported meanwhile", async () => {
      const began = performance.now();
      const call = upstream.call("wait", {}, { timeoutMs: 300, onProgress: () => {} });
      await expect(call).rejects.toMatchObject({ name: "GatewayError", code: "TIMEOUT", data: { ms: 300 } });
      expect(performance.now() - began).toBeLessThan(10_000);
    });

    test("tells of changed lists", async () => {
      let tell: () => void = () => {};
      const told = new Promise<void>((resolve) => {
        tell = resolve;
      });
      const own = await opened({ onListChanged: () => tell() });
      await own.call("change", {});
      await told;
    });

    test("fails pending requests when it is closed, and every request after", async () => {
      let told = 0;
      const own = await opened({ onClosed: () => told++ });
      const call = own.call("wait", {}, { timeoutMs: 15_000 });
      const failed = expect(call).rejects.toMatchObject({ name: "GatewayError", code: "UPSTREAM_CLOSED" });
      await own.close();
      await failed;
      await expect(own.call("echo", { text: "late" })).rejects.toMatchObject({ code: "UPSTREAM_CLOSED" });
      await expect(own.list()).rejects.toMatchObject({ code: "UPSTREAM_CLOSED" });
      // The caller that closed it knows.
      expect(told).toBe(0);
    });

    test("can be closed twice, and at once", async () => {
      const own = await opened();
      await Promise.all([own.close(), own.close()]);
      await own.close();
    });
  });
}
