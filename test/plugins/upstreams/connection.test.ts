import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Cancellation, GatewayError, textResult } from "../../../core/mod.ts";
import type { Upstream, UpstreamEvents } from "../../../core/services/servers.ts";
import { CONNECT_FAILED, UPSTREAM_CLOSED } from "../../../core/services/servers.ts";
import {
  type ConnectionOptions,
  createPooledConnection,
  type PooledConnection,
} from "../../../plugins/upstreams/connection.ts";

/** The far side: connections that can be held up, refused and broken at will. */
function farSide() {
  const side = {
    opened: 0,
    open: 0,
    /** How long it takes to open and to close one. */
    openMs: 0,
    closeMs: 0,
    refuse: false,
    /** It has ended, which is not known here yet. */
    deaf: false,
    most: 0,
    running: 0,
    events: {} as UpstreamEvents,
    /** The subscriptions of each connection, in order. */
    watched: [] as (readonly string[])[],
    finish: [] as (() => void)[],
    broken: [] as ((error: GatewayError) => void)[],
    /** As a killed process does: what it was asked for fails, and the connection ends. */
    kill(why: string): void {
      for (const fail of side.broken.splice(0)) fail(new GatewayError(UPSTREAM_CLOSED, why));
      side.finish = [];
      side.events.onClosed?.(why);
    },
    connect: async (events: UpstreamEvents): Promise<Upstream> => {
      if (side.refuse) throw new GatewayError(CONNECT_FAILED, "The server is down.");
      side.opened++;
      side.open++;
      side.events = events;
      if (side.openMs > 0) await new Promise((resolve) => setTimeout(resolve, side.openMs));
      let isOpen = true;
      return {
        info: {},
        list: async () => ({ tools: [], rejected: [], resources: [], resourceTemplates: [], prompts: [] }),
        async call(name) {
          if (side.deaf) throw new GatewayError(UPSTREAM_CLOSED, "It is gone.", { data: { sent: false } });
          side.running++;
          side.most = Math.max(side.most, side.running);
          try {
            if (name !== "wait") return textResult(name);
            return await new Promise((resolve, reject) => {
              side.finish.push(() => resolve(textResult(name)));
              side.broken.push(reject);
            });
          } finally {
            side.running--;
          }
        },
        request: async (method, params) => ({ method, ...params }),
        async watch(uris) {
          side.watched.push(uris);
        },
        async close() {
          if (side.closeMs > 0) await new Promise((resolve) => setTimeout(resolve, side.closeMs));
          if (isOpen) side.open--;
          isOpen = false;
        },
      };
    },
  };
  return side;
}

function openConnection(
  side: ReturnType<typeof farSide>,
  options: Partial<ConnectionOptions> = {},
): PooledConnection {
  return createPooledConnection({
    connect: side.connect,
    idleMs: 300_000,
    concurrency: 16,
    maxSilentTimeouts: 3,
    onListChanged() {},
    onState() {},
    random: () => 0,
    ...options,
  });
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the connection to a server", () => {
  test("opens nothing before it is used, and one connection however many use it at once", async () => {
    const side = farSide();
    const connection = openConnection(side);
    expect(side.opened).toBe(0);
    expect(connection.state).toBe("disconnected");
    await Promise.all([connection.call("a", {}, {}), connection.call("b", {}, {}), connection.list()]);
    expect(side.opened).toBe(1);
    expect(connection.state).toBe("connected");
    await connection.close();
  });

  test("closes an idle connection, and opens it again when it is needed", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.call("a", {}, {});
    await vi.advanceTimersByTimeAsync(299_000);
    expect(side.open).toBe(1);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(side.open).toBe(0);
    expect(connection.state).toBe("disconnected");
    await connection.call("a", {}, {});
    expect(side.opened).toBe(2);
    await connection.close();
  });

  test("never closes with a call in flight", async () => {
    const side = farSide();
    const connection = openConnection(side);
    const slow = connection.call("wait", {}, {});
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(side.open).toBe(1);
    side.finish[0]?.();
    await slow;
    await vi.advanceTimersByTimeAsync(300_001);
    expect(side.open).toBe(0);
  });

  test("lets no more calls through at once than it is told, and each waits its turn", async () => {
    const side = farSide();
    const connection = openConnection(side, { concurrency: 2 });
    const calls = Array.from({ length: 6 }, () => connection.call("wait", {}, {}));
    for (let done = 0; done < 6; done++) {
      await vi.advanceTimersByTimeAsync(1);
      expect(side.running).toBeLessThanOrEqual(2);
      side.finish.shift()?.();
    }
    await Promise.all(calls);
    expect(side.most).toBe(2);
    await connection.close();
  });

  test("a caller that gives up while it waits leaves the queue, and its turn is not lost", async () => {
    const side = farSide();
    const connection = openConnection(side, { concurrency: 1 });
    const first = connection.call("wait", {}, {});
    const cancellation = new Cancellation();
    const second = connection.call("b", {}, { cancellation });
    const third = connection.call("c", {}, {});
    await vi.advanceTimersByTimeAsync(1);
    cancellation.cancel();
    await expect(second).rejects.toMatchObject({ code: "CANCELLED" });
    side.finish[0]?.();
    await first;
    expect(await third).toEqual(textResult("c"));
    await connection.close();
  });

  test("waits longer after each failure, from a second to a minute, and says when it tries again", async () => {
    const side = farSide();
    const connection = openConnection(side);
    side.refuse = true;
    const tries: number[] = [];
    for (let second = 0; second < 400; second++) {
      const error: GatewayError = await connection.call("a", {}, {}).then(
        () => expect.fail("it is not there"),
        (thrown) => thrown,
      );
      expect(error.code).toBe("CONNECT_FAILED");
      if (error.data["retryAfterMs"] === undefined) tries.push(second);
      else expect(error.message).toMatch(/It is tried again in \d+ s\.$/);
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(tries.slice(0, 8)).toEqual([0, 1, 3, 7, 15, 31, 63, 123]);
    expect(connection.state).toBe("error");
    side.refuse = false;
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await connection.call("a", {}, {})).toEqual(textResult("a"));
    expect(connection.state).toBe("connected");
    await connection.close();
  });

  test("one that worked and was killed is opened again at once", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.call("a", {}, {});
    side.kill("it was killed");
    expect(connection.state).toBe("disconnected");
    expect(connection.reason).toBe("It was killed. It is opened again when it is needed.");
    await connection.call("a", {}, {});
    expect(side.opened).toBe(2);
    await connection.close();
  });

  test("a request that was not sent before the end is sent over the next connection, once", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.call("a", {}, {});
    side.deaf = true;
    const call = connection.call("b", {}, {});
    await vi.advanceTimersByTimeAsync(50);
    // The end is not reported yet: pending requests may still be answered.
    expect(side.opened).toBe(1);
    side.deaf = false;
    side.kill("it was killed");
    expect(await call).toEqual(textResult("b"));
    expect(side.opened).toBe(2);
    side.deaf = true;
    const lost = expect(connection.call("c", {}, {})).rejects.toMatchObject({ code: "UPSTREAM_CLOSED" });
    await vi.advanceTimersByTimeAsync(1);
    side.kill("it was killed");
    await lost;
    expect(side.opened).toBe(3);
    await connection.close();
  });

  test("a caller that waits for the next connection is not left waiting when the connection is closed", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.call("a", {}, {});
    side.deaf = true;
    const call = expect(connection.call("b", {}, {})).rejects.toMatchObject({ code: "CLOSED" });
    await vi.advanceTimersByTimeAsync(1);
    await connection.close();
    await call;
  });

  test("one that ends whenever it has started is not started again and again", async () => {
    const side = farSide();
    const connection = openConnection(side);
    for (let second = 0; second < 300; second++) {
      const call = connection.call("wait", {}, {}).catch(() => {});
      await vi.advanceTimersByTimeAsync(0);
      side.kill("it exited");
      await call;
      await vi.advanceTimersByTimeAsync(1_000);
    }
    expect(side.opened).toBeLessThanOrEqual(12);
    expect(connection.state).toBe("error");
    expect(connection.reason).toContain("ended right after it had started");
    await connection.close();
  });

  test.each(["idle", "killed"])("is not opened again before the one before is gone (%s)", async (how) => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.call("a", {}, {});
    side.closeMs = 400;
    if (how === "idle") await vi.advanceTimersByTimeAsync(300_000);
    else side.kill("it was killed");
    expect(connection.state).toBe("disconnected");
    const call = connection.call("b", {}, {});
    await vi.advanceTimersByTimeAsync(399);
    expect([side.opened, side.open]).toEqual([1, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect(await call).toEqual(textResult("b"));
    expect([side.opened, side.open]).toEqual([2, 1]);
    const closing = connection.close();
    await vi.advanceTimersByTimeAsync(400);
    await closing;
    expect(side.open).toBe(0);
  });

  test("one without a waiting caller is closed when idle, too", async () => {
    const side = farSide();
    side.openMs = 1_000;
    const connection = openConnection(side);
    const cancellation = new Cancellation();
    const call = connection.call("a", {}, { cancellation });
    await vi.advanceTimersByTimeAsync(500);
    cancellation.cancel();
    await expect(call).rejects.toMatchObject({ code: "CANCELLED" });
    await vi.advanceTimersByTimeAsync(500);
    expect(connection.state).toBe("connected");
    await vi.advanceTimersByTimeAsync(300_000);
    expect([connection.state, side.open]).toEqual(["disconnected", 0]);
  });

  test("one that ends while it is being opened is not taken for open", async () => {
    const side = farSide();
    const connection = openConnection(side, {
      connect: async (events) => {
        const upstream = await side.connect(events);
        side.kill("it was killed");
        return upstream;
      },
    });
    await connection.call("a", {}, {});
    expect(connection.state).toBe("error");
    expect(connection.reason).toBe("The server ended right after it had started: it was killed.");
    expect(side.open).toBe(0);
  });

  test("close ends the connection and refuses later calls", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.call("a", {}, {});
    await connection.close();
    await connection.close();
    expect(side.open).toBe(0);
    await expect(connection.call("a", {}, {})).rejects.toMatchObject({ code: "CLOSED" });
  });

  test("a connection that is still being opened when the connection is closed does not stay open", async () => {
    const side = farSide();
    let release: () => void = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const connection = openConnection(side, {
      connect: async (events) => {
        await held;
        return side.connect(events);
      },
    });
    const call = connection.call("a", {}, {}).catch((error: unknown) => error);
    const closing = connection.close();
    release();
    await closing;
    expect(await call).toMatchObject({ code: "CLOSED" });
    expect(side.open).toBe(0);
  });

  test("makes other requests, and fails with the reason where a server supports none", async () => {
    const side = farSide();
    const connection = openConnection(side);
    expect(await connection.request("resources/read", { uri: "a:b" }, {})).toEqual({
      method: "resources/read",
      uri: "a:b",
    });
    const bare = openConnection(side, {
      connect: async (events) => {
        const { request: _, ...upstream } = await side.connect(events);
        return upstream;
      },
    });
    await expect(bare.request("resources/read", {}, {})).rejects.toMatchObject({ code: "UPSTREAM_ERROR" });
    await Promise.all([connection.close(), bare.close()]);
  });

  test("stays open while something is watched, and is closed some time after that", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.watch(["a:b"]);
    await vi.advanceTimersByTimeAsync(1_000_000);
    expect(side.open).toBe(1);
    await connection.watch([]);
    await vi.advanceTimersByTimeAsync(300_001);
    expect(side.open).toBe(0);
    expect(side.watched).toEqual([["a:b"], []]);
  });

  test("a connection that breaks is opened again for what is watched, which may have changed", async () => {
    const side = farSide();
    const updated: string[] = [];
    const connection = openConnection(side, { onResourceUpdated: (uri) => updated.push(uri) });
    await connection.watch(["a:b"]);
    side.events.onResourceUpdated?.("a:b/c");
    side.refuse = true;
    side.kill("it crashed");
    await vi.advanceTimersByTimeAsync(5_000);
    expect(side.opened).toBe(1);
    side.refuse = false;
    side.watched = [];
    await vi.advanceTimersByTimeAsync(120_000);
    expect(side.opened).toBe(2);
    expect(side.watched).toEqual([["a:b"]]);
    expect(updated).toEqual(["a:b/c", "a:b"]);
    await connection.close();
  });

  test("a connection that breaks while nothing is watched stays closed", async () => {
    const side = farSide();
    const connection = openConnection(side);
    await connection.watch(["a:b"]);
    await connection.watch([]);
    side.kill("it crashed");
    await vi.advanceTimersByTimeAsync(200_000);
    expect(side.opened).toBe(1);
    await connection.close();
  });
});
