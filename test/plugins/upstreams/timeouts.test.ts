import { expect, test } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { getError, readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty } from "./_fixtures.ts";

/** A real server whose tool `fault` reports progress without end. */
async function openUpstreams(timeout: object): Promise<Gateway> {
  const { command, args } = faulty("progress");
  const gateway = await openGateway({
    preset: passthrough,
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: { servers: [{ name: "one", command, args: [...args], callTimeoutMs: 250 }] },
      timeout,
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
