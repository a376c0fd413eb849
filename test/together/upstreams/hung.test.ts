import { expect, onTestFinished, test } from "vitest";
import type { Gateway, GatewayError } from "../../../core/mod.ts";
import type { ServerStatus } from "../../../core/services/servers.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { getError, readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty, isAlive } from "../../support/stdio-servers.ts";
import { until } from "../../support/until.ts";

async function openServer(mode: string, upstreams: object = {}) {
  const errors: GatewayError[] = [];
  const { command, args } = faulty(mode);
  const gateway = await openGateway({
    preset: passthrough,
    plugins: [{ name: "listener", setup: () => ({ error: (error) => void errors.push(error) }) }],
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: { servers: [{ name: "one", command, args: [...args] }] },
      timeout: { ms: 20_000, tools: { "one:fault": 300, "one:wait": 300, "one:echo": 10_000 } },
      upstreams,
    },
  });
  await gateway.services.servers?.refresh();
  return { gateway, errors, status: () => gateway.services.servers?.status("one") as ServerStatus };
}

async function getPid(gateway: Gateway): Promise<number> {
  const pid = Number(JSON.parse(readText(await gateway.run({ tool: "one:process" }))).pid);
  onTestFinished(() => {
    if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return pid;
}

test.skipIf(process.platform === "win32")(
  "fault 70: a server that hangs is ended after three calls, the status says so, and the next call has another one",
  { timeout: 60_000 },
  async () => {
    const { gateway, errors, status } = await openServer("hang", { concurrency: 3 });
    const hung = await getPid(gateway);
    // They fill all slots, and each ends at its own limit.
    const calls = Array.from({ length: 3 }, () => gateway.run({ tool: "one:fault" }));
    for (const call of await Promise.all(calls)) expect(getError(call).code).toBe("TIMEOUT");
    await until(() => status().status === "disconnected", 20_000);
    expect(status().reason).toBe(
      "It has not answered 3 calls in time and no ping within 2 s, so it was ended. It is opened again when it is needed.",
    );
    expect(errors.map(({ code, message }) => [code, message.slice(0, 23)])).toContainEqual([
      "UPSTREAM_STALLED",
      'The server "one" hangs.',
    ]);
    expect(readText(await gateway.run({ tool: "one:echo", args: { text: "again" } }))).toBe("again");
    expect(await getPid(gateway)).not.toBe(hung);
    await until(() => !isAlive(hung), 20_000);
  },
);

test("fault 70: a server whose calls take too long, and that answers a ping, stays", async () => {
  const { gateway, status } = await openServer("ok");
  const pid = await getPid(gateway);
  for (let times = 0; times < 4; times++) {
    expect(getError(await gateway.run({ tool: "one:wait" })).code).toBe("TIMEOUT");
  }
  await until(() => status().reason === "It is connected.", 10_000);
  expect(await getPid(gateway)).toBe(pid);
});
