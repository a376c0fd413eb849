import { expect, test } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import { requestMeta } from "../../../core/services/policy.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { getError, readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty } from "../../support/stdio-servers.ts";

/** A real server, by default one whose tool `fault` reports progress without end. */
async function openUpstreams(timeout: object, mode = "progress", upstreams: object = {}): Promise<Gateway> {
  const { command, args } = faulty(mode);
  const gateway = await openGateway({
    preset: passthrough,
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: { servers: [{ name: "one", command, args: [...args], callTimeoutMs: 250 }] },
      timeout,
      upstreams,
    },
  });
  await gateway.services.servers?.refresh();
  return gateway;
}

test("fault 13: progress goes beyond the limit of a server's definition, but not beyond the maximum, and the server is told", async () => {
  const gateway = await openUpstreams({ maxMs: 900 });
  const began = performance.now();
  const error = getError(await gateway.run({ tool: "one:fault" }));
  expect(error).toMatchObject({ code: "TIMEOUT", data: { ms: 900, setting: "options.timeout.maxMs" } });
  expect(performance.now() - began).toBeGreaterThan(890);
  expect(JSON.parse(readText(await gateway.run({ tool: "one:cancelled" })))).toHaveLength(1);
});

test("a silent tool ends at the limit of its server's definition, which the message names", async () => {
  const gateway = await openUpstreams({});
  const error = getError(await gateway.run({ tool: "one:wait" }));
  expect(error).toMatchObject({ code: "TIMEOUT", data: { ms: 250 } });
  expect(error.message).toContain('callTimeoutMs in the definition of the server "one"');
});

test("options of a server or a tool override its definition", async () => {
  const gateway = await openUpstreams({ servers: { one: 20_000 }, tools: { "one:wait": 300 } });
  expect(getError(await gateway.run({ tool: "one:wait" })).data).toMatchObject({ ms: 300 });
  const other = await openUpstreams({ servers: { one: 350 } });
  expect(getError(await other.run({ tool: "one:wait" })).data).toMatchObject({
    ms: 350,
    setting: 'options.timeout.servers["one"]',
  });
});

test("fault 65: a tool that may change something and does not answer in time may have done it, so a retry is not advised", async () => {
  const gateway = await openUpstreams({}, "partial");
  const error = getError(await gateway.run({ tool: "one:fault" }));
  expect(error).toMatchObject({
    code: "TIMEOUT",
    kind: { spec: "TOOL_EXECUTION_TIMEOUT", retry: false },
    data: { retryable: false },
  });
  expect(error.message).toContain("may have been done all the same: check that before it is called again");
  expect(error.data["sent"]).toBeUndefined();
});

test("fault 66: a start that takes longer than a call may does not count for the call", async () => {
  const gateway = await openUpstreams({}, "slowinit", { idleMs: 30 });
  const isClosed = (): boolean => gateway.services.servers?.status("one")?.status === "disconnected";
  await expect.poll(isClosed).toBe(true);
  const began = performance.now();
  expect(readText(await gateway.run({ tool: "one:echo", args: { text: "hi" } }))).toBe("hi");
  expect(performance.now() - began).toBeGreaterThan(500);
});

test("fault 67: a call that waits its whole time for a slot was not sent, says so, and may be made again", async () => {
  const gateway = await openUpstreams({ extendOnProgress: false }, "progress", { concurrency: 1 });
  const first = gateway.run({ tool: "one:fault" });
  const meta = { [requestMeta.timeoutMs]: 60 };
  const error = getError(await gateway.run({ tool: "one:exit", meta }));
  expect(error).toMatchObject({ code: "TIMEOUT", kind: { retry: true }, data: { sent: false } });
  expect(error.message).toContain('"one:exit" was not sent within 60 ms');
  await first;
  // Had it been sent, the server would have ended.
  expect(readText(await gateway.run({ tool: "one:echo", args: { text: "alive" } }))).toBe("alive");
});
