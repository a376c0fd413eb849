import { afterEach, expect, test } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { closeServers, legacyStreamable } from "../../fixtures/http-servers.ts";
import { readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";

const CALLS = 32;

afterEach(closeServers);

async function openRemote(url: string): Promise<Gateway> {
  const gateway = await openGateway({
    preset: passthrough,
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: { servers: [{ name: "remote", url }] },
    },
  });
  await gateway.services.servers?.refresh();
  return gateway;
}

test("fault 71: calls that an HTTP server refuses because it no longer knows the session are made under a new one", async () => {
  const server = await legacyStreamable();
  const gateway = await openRemote(server.url);
  expect(readText(await gateway.run({ tool: "remote:echo", args: { text: "before" } }))).toBe("before");
  // As a restart does.
  server.forget();
  const calls = Array.from({ length: CALLS }, (_, index) =>
    gateway.run({ tool: "remote:echo", args: { text: String(index) } }),
  );
  const settled = await Promise.all(calls);
  expect(settled.map((one) => (one.ok ? readText(one) : one.error.code))).toEqual(
    settled.map((_, index) => String(index)),
  );
  expect(server.sessions.size).toBe(1);
});

test("a call that the server has taken under the lost session is not made again", async () => {
  const server = await legacyStreamable();
  const gateway = await openRemote(server.url);
  const sent = (): number => server.seen.filter(({ method }) => method === "POST").length;
  const before = sent();
  const waiting = gateway.run({ tool: "remote:wait" });
  await expect.poll(sent).toBe(before + 1);
  server.forget();
  expect(readText(await gateway.run({ tool: "remote:echo", args: { text: "new" } }))).toBe("new");
  const lost = await waiting;
  expect(lost.ok ? "" : lost.error.code).toBe("OUTCOME_UNKNOWN");
});
