import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { type ErrorKind, GatewayError } from "../../../core/mod.ts";
import {
  CONNECT_FAILED,
  CONNECT_TIMEOUT,
  NEEDS_AUTH,
  SPAWN_FAILED,
  UPSTREAM_CLOSED,
  UPSTREAM_ERROR,
} from "../../../core/services/servers.ts";
import { isRetryable } from "../../../plugins/discovery/errors.ts";
import type { DiscoveryService } from "../../../plugins/discovery/mod.ts";
import { nextBackoffDelay } from "../../../plugins/lib/backoff.ts";
import { closeServers } from "../../fixtures/http-servers.ts";
import { faked, type Gate, gatedServer, remote } from "../../plugins/discovery/_fixtures.ts";
import { catchFailure } from "../../support/failure.ts";
import { pooled } from "./_pool.ts";

afterEach(closeServers);

const policy = {
  maxRetries: 3,
  initialDelayMs: 1_000,
  maxDelayMs: 30_000,
  backoffMultiplier: 2,
  jitterFactor: 0.1,
};
const failing = new GatewayError(UPSTREAM_ERROR, "No.", { data: { status: 503 } });
const askedToWait = (retryAfterMs: number): GatewayError =>
  new GatewayError(UPSTREAM_ERROR, "No.", { data: { status: 429, retryAfterMs } });

describe("the wait before a retry", () => {
  test("doubles from a second up to thirty", () => {
    const waits = [0, 1, 2, 3, 4, 5, 6].map((retry) => nextBackoffDelay(retry, failing, policy, () => 0.5));
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  });

  test("differs from that by a tenth at most, and never goes beyond the longest", () => {
    const unit = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.nat(20), unit, (retry, random) => {
        const planned = Math.min(30_000, 1_000 * 2 ** retry);
        const wait = nextBackoffDelay(retry, failing, policy, () => random) as number;
        expect(wait).toBeGreaterThanOrEqual(planned * 0.9 - 1e-6);
        expect(wait).toBeLessThanOrEqual(Math.min(30_000, planned * 1.1 + 1e-6));
      }),
    );
    expect(nextBackoffDelay(0, failing, policy, () => 0)).toBe(900);
    expect(nextBackoffDelay(0, failing, policy, () => 1)).toBe(1_100);
  });

  test("is as long as the server says, and is not waited where that is longer than the longest", () => {
    expect(nextBackoffDelay(0, askedToWait(7_000), policy)).toBe(7_000);
    expect(nextBackoffDelay(0, askedToWait(30_001), policy)).toBeUndefined();
    expect(nextBackoffDelay(3, askedToWait(10), policy, () => 0.5)).toBe(8_000);
  });
});

describe("a failure that may pass", () => {
  const error = (kind: ErrorKind | "TIMEOUT" | "CANCELLED", data = {}, cause?: unknown): GatewayError =>
    new GatewayError(kind, "No.", { data, cause });
  const reset = error(UPSTREAM_CLOSED);

  test.each([
    ["HTTP 429", error(UPSTREAM_ERROR, { status: 429 }), true],
    ["HTTP 503", error(UPSTREAM_ERROR, { status: 503 }), true],
    ["a call that took too long", error("TIMEOUT"), true],
    ["a start that took too long", error(CONNECT_TIMEOUT), true],
    ["a connection that was reset", reset, true],
    ["a connection that was reset before it was ready", error(CONNECT_FAILED, {}, reset), true],
    ["HTTP 500", error(UPSTREAM_ERROR, { status: 500 }), false],
    ["HTTP 502", error(UPSTREAM_ERROR, { status: 502 }), false],
    ["HTTP 404", error(UPSTREAM_ERROR, { status: 404 }), false],
    ["a connection that was refused", error(CONNECT_FAILED), false],
    ["a command that is not there", error(SPAWN_FAILED), false],
    ["a login that is missing", error(NEEDS_AUTH), false],
    ["an answer that is an error", error(UPSTREAM_ERROR, { rpcCode: -32000 }), false],
    ["a cancelled call", error("CANCELLED"), false],
  ])("%s", (_, thrown, expected) => {
    expect(isRetryable(thrown)).toBe(expected);
  });
});

describe("a server over HTTP", () => {
  /** Fails so often, then works. */
  async function expectFailure(
    times: number,
    verdict: Awaited<ReturnType<Gate>>,
    method = "initialize",
  ): Promise<{ run: () => Promise<number>; waits: number[]; tries: () => number; live: Set<string> }> {
    let count = 0;
    const server = await gatedServer((_, asked) => {
      // The modern handshake comes first, and is answered with an error that names the legacy protocol.
      const isMeant =
        method === "initialize" ? asked === "server/discover" || asked === method : asked === method;
      if (!isMeant || count >= times) return undefined;
      count++;
      return verdict;
    });
    const waits: number[] = [];
    const service: DiscoveryService = pooled({
      waiting: {
        random: () => 0.5,
        async sleep(ms) {
          waits.push(ms);
        },
      },
    });
    return {
      waits,
      tries: () => count,
      live: server.live,
      run: async () =>
        // Only retries wait: every request takes a token, and this clock stands still.
        (await service.discoverTools(remote("remote", server.url), { rateLimit: { burstSize: 1_000 } }))
          .length,
    };
  }

  test("that was asked too often is asked again, later each time", async () => {
    const { run, waits } = await expectFailure(3, 429, "tools/list");
    expect(await run()).toBe(1);
    expect(waits).toEqual([1_000, 2_000, 4_000]);
  });

  test("is left alone for as long as it says", async () => {
    const { run, waits } = await expectFailure(1, [429, { "retry-after": "7" }], "tools/list");
    expect(await run()).toBe(1);
    expect(waits).toEqual([7_000]);
  });

  test("that wants to be left alone for too long fails with how long that is", async () => {
    const { run, waits, live } = await expectFailure(1, [429, { "retry-after": "3600" }], "tools/list");
    const error = await catchFailure(run());
    expect({ code: error.code, ...error.data }).toMatchObject({
      code: "RATE_LIMITED",
      retryAfterMs: 3_600_000,
      server: "remote",
    });
    expect(waits).toEqual([]);
    expect(live.size).toBe(0);
  });

  test.each([
    ["is not available", 503],
    ["resets the connection", "reset"],
  ] as const)(
    "that %s is asked again, when a session is opened and when tools are listed",
    async (_, verdict) => {
      for (const method of ["initialize", "tools/list"]) {
        const { run, waits, live } = await expectFailure(1, verdict, method);
        expect(await run()).toBe(1);
        // A request that was reset before its first byte may be made again by the runtime itself, at once.
        expect(verdict === "reset" ? [[], [1_000]] : [[1_000]]).toContainEqual(waits);
        expect(live.size).toBe(0);
      }
    },
  );

  test("that fails four times is abandoned", async () => {
    const { run, waits, tries } = await expectFailure(9, 503, "tools/list");
    const error = await catchFailure(run());
    expect(error.code).toBe("TOOLS_LIST_FAILED");
    expect(error.data).toMatchObject({ status: 503, server: "remote" });
    expect(waits).toEqual([1_000, 2_000, 4_000]);
    expect(tries()).toBe(4);
  });

  test.each([
    [500, "SESSION_INIT_FAILED"],
    [403, "NEEDS_AUTH"],
    [401, "NEEDS_AUTH"],
  ])("that answers %i is not asked again", async (status, code) => {
    const { run, waits } = await expectFailure(9, status);
    expect((await catchFailure(run())).code).toBe(code);
    expect(waits).toEqual([]);
  });
});

test("a server that cannot be reached is not asked again", async () => {
  const server = await gatedServer(() => undefined);
  await server.close();
  const service = pooled({
    waiting: {
      async sleep() {
        throw new Error("No retry should wait.");
      },
    },
  });
  expect((await catchFailure(service.discoverTools(remote("gone", server.url)))).code).toBe("CONNECT_FAILED");
});

test("a process that took too long is started again, and one that broke off is not", async () => {
  const config = {
    name: "local",
    connection: { type: "stdio", command: "x", args: [], env: {} },
    origin: { source: "inline", scope: "config" },
  } as const;
  let tries = 0;
  const late = faked({
    onOpen() {
      if (++tries < 3) throw new GatewayError(CONNECT_TIMEOUT, "It was not ready.");
    },
  });
  await late.discoverTools(config);
  expect(tries).toBe(3);
  const broken = faked({
    onOpen() {
      throw new GatewayError(UPSTREAM_CLOSED, "It ended.");
    },
  });
  await catchFailure(broken.discoverTools(config));
  expect(broken.waits).toEqual([]);
});
