import { describe, expect, test } from "vitest";
import type { Plugin } from "../../core/mod.ts";
import { createDamagedError } from "../../core/services/state.ts";
import { createProbeLog, health } from "../../plugins/health.ts";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { state } from "../../plugins/state/mod.ts";
import { ask, serveGateway } from "../plugins/serve/_http.ts";
import { catchFailure } from "../support/failure.ts";

/** Asks after each of some pauses. */
function watched(): { readonly noticeMs: () => number; ask(from: string, ...pauses: number[]): void } {
  let now = 0;
  const probes = createProbeLog(() => now);
  return {
    noticeMs: () => probes.noticeMs(),
    ask(from, ...pauses) {
      for (const pause of pauses) {
        now += pause;
        probes.add(from);
      }
    },
  };
}

describe("how long a gateway that ends waits to be noticed", () => {
  test("is zero without readiness probes, or after a single one", () => {
    const { ask: asks, noticeMs } = watched();
    expect(noticeMs()).toBe(0);
    asks("a person", 0);
    expect(noticeMs()).toBe(0);
  });

  test("is three intervals of the rarest probe and a second", () => {
    const { ask: asks, noticeMs } = watched();
    asks("a balancer", 0, 2_000, 2_000);
    expect(noticeMs()).toBe(7_000);
    asks("another", 0, 500, 500);
    expect(noticeMs()).toBe(7_000);
    // One question that comes early says nothing of the next.
    asks("a balancer", 1_000);
    expect(noticeMs()).toBe(7_000);
  });

  test("is never more than 15 seconds, and a source that has stopped probing does not count", () => {
    const { ask: asks, noticeMs } = watched();
    asks("a balancer", 0, 10_000, 10_000);
    expect(noticeMs()).toBe(15_000);
    asks("a person", 60_000);
    expect(noticeMs()).toBe(0);
  });

  test("is known however many other clients ask", () => {
    const { ask: asks, noticeMs } = watched();
    for (let stranger = 0; stranger < 1_000; stranger++) asks(`stranger ${stranger}`, 0);
    asks("a balancer", 0, 1_000);
    expect(noticeMs()).toBe(4_000);
  });

  test("is what the config says", async () => {
    const server = await serveGateway({ plugins: [health({ noticeMs: 1_234 })] });
    expect(server.leave()).toBe(1_234);
    const refused = await catchFailure((async () => serveGateway({ plugins: [health({ noticeMs: -1 })] }))());
    expect(refused.code).toBe("PLUGIN_INVALID");
    expect(refused.message).toContain("noticeMs: expected a number of milliseconds, 0 or more");
  });
});

test("a gateway that leaves reports it at /readyz at once, answers as before, and ends each connection with its answer", async () => {
  const server = await serveGateway({ plugins: [health()] });
  const look = async (path: string): Promise<readonly [number, unknown]> => {
    const response = await fetch(new URL(path, server.url));
    await response.body?.cancel();
    return [response.status, response.headers.get("connection")];
  };
  expect((await look("/readyz"))[0]).toBe(200);
  expect(server.leave()).toBe(0);
  expect(await look("/readyz")).toEqual([503, "close"]);
  expect(await look("/healthz")).toEqual([200, "close"]);
  const called = await ask(server.url, "tools/call", { name: "now" });
  expect([called.status, called.headers.get("connection")]).toEqual([200, "close"]);
  expect(await called.text()).toContain("done");
});

test("a gateway without the plugin health can leave too, at once", async () => {
  const server = await serveGateway();
  expect(server.leave()).toBe(0);
  expect((await ask(server.url, "ping")).status).toBe(200);
});

test("/readyz counts the damaged records that were met, and stays ready", async () => {
  const damaged = createDamagedError("store/x.txt");
  const store = {
    ...memoryStore(),
    get: (key: string) => (key === "g/k" ? Promise.reject(damaged) : Promise.resolve(undefined)),
  };
  const readers: Plugin = {
    name: "reader",
    uses: ["state"],
    setup: ({ services }) => ({
      async ready() {
        for (let time = 0; time < 2; time++) await services.state?.get("g/k").catch(() => {});
      },
    }),
  };
  const server = await serveGateway({ plugins: [state({ store }), health(), readers] });
  const response = await fetch(new URL("/readyz", server.url));
  expect([response.status, await response.json()]).toEqual([200, { status: "ok", damaged_records: 1 }]);
});
