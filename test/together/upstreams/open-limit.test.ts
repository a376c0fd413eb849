import { expect, test } from "vitest";
import type { Gateway } from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { readText } from "../../support/failure.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { faulty, isAlive } from "../../support/stdio-servers.ts";
import { until } from "../../support/until.ts";

const SERVERS = 8;
const MOST = 3;

async function openServers(): Promise<Gateway> {
  const { command, args } = faulty("ok");
  const gateway = await openGateway({
    preset: passthrough,
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: {
        servers: Array.from({ length: SERVERS }, (_, index) => ({
          name: `s${index}`,
          command,
          args: [...args],
        })),
      },
      upstreams: { maxOpen: MOST },
    },
  });
  await gateway.services.servers?.settled();
  return gateway;
}

test("fault 73: of many servers that are called, few processes stay, and those that were used last", {
  timeout: 60_000,
}, async () => {
  const gateway = await openServers();
  const getPid = async (server: string): Promise<number> =>
    JSON.parse(readText(await gateway.run({ tool: `${server}:process` }))).pid;
  const connected = (): string[] =>
    (gateway.services.servers?.statuses() ?? [])
      .filter(({ status }) => status === "connected")
      .map(({ name }) => name);
  const pids: number[] = [];
  const living = (): number => pids.filter(isAlive).length;
  expect(connected().length).toBeLessThanOrEqual(MOST);

  for (let index = 0; index < SERVERS; index++) {
    pids.push(await getPid(`s${index}`));
    expect(living()).toBeLessThanOrEqual(MOST);
  }
  expect(connected()).toEqual(["s5", "s6", "s7"]);

  // One that is used stays, however long ago its call began.
  const leave = new AbortController();
  const busy = gateway.run({ tool: "s5:wait", signal: leave.signal });
  for (const index of [0, 1, 2, 3]) pids.push(await getPid(`s${index}`));
  expect(connected()).toEqual(["s2", "s3", "s5"]);
  expect(isAlive(pids[5] as number)).toBe(true);

  // All at once may need more than may stay.
  await Promise.all(Array.from({ length: SERVERS }, (_, index) => getPid(`s${index}`)));
  await until(() => connected().length <= MOST, 20_000);
  expect(connected()).toContain("s5");
  leave.abort();
  await busy;
});
