import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../core/mod.ts";
import { type Serving, startServe } from "../../support/start-serve.ts";
import { faulty, isAlive } from "../../support/stdio-servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

const MODES = ["ignoreterm", "orphan", "leaver"];

async function openServe(home: string, modes: readonly string[]): Promise<Serving> {
  const file = join(await temporaryFolder(), "toolpipe.config.json");
  const mcpServers = Object.fromEntries(
    modes.map((mode) => {
      const { command, args } = faulty(mode);
      return [mode, { command, args }];
    }),
  );
  const options = { cache: { enabled: false }, sources: { clients: [] } };
  await writeFile(file, JSON.stringify({ preset: "anygpt", mcpServers, options }));
  const serving = startServe(["--config", file], { env: { ...process.env, TOOLPIPE_HOME: home } });
  await serving.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  });
  return serving;
}

async function listPids(serving: Serving, mode: string): Promise<number[]> {
  const answer = await serving.request("tools/call", {
    name: "execute_tool",
    arguments: { server: mode, tool: "process", arguments: {} },
  });
  const found = /\{\\*"pid\\*":(\d+),\\*"grandchild\\*":(\d+)\}/.exec(JSON.stringify(answer as JsonObject));
  const pids = [Number(found?.[1]), Number(found?.[2])];
  expect(
    pids.every((pid) => pid > 1),
    JSON.stringify(answer),
  ).toBe(true);
  onTestFinished(() => {
    for (const pid of pids) if (isAlive(pid)) process.kill(pid, "SIGKILL");
  });
  return pids;
}

// Only Linux tells who has started a process that has left its group.
test.skipIf(process.platform !== "linux")(
  "fault 72: what a killed gateway leaves running is ended by the next start, and what a running one has stays",
  { timeout: 120_000 },
  async () => {
    const home = await temporaryFolder();
    const [killed, running] = [await openServe(home, MODES), await openServe(home, ["ignoreterm"])];
    const left = (await Promise.all(MODES.map((mode) => listPids(killed, mode)))).flat();
    const others = await listPids(running, "ignoreterm");
    killed.child.kill("SIGKILL");
    await killed.exit;
    // The leader of "orphan" ends with its input.
    await until(() => left.filter(isAlive).length === 5, 20_000);

    await openServe(home, []);
    await until(() => left.filter(isAlive).length === 0, 20_000);
    expect(others.every(isAlive)).toBe(true);
  },
);
