import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { Gateway, LoadedConfig, Plugin } from "../../../core/mod.ts";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { serveGateway } from "../../plugins/serve/_http.ts";
import { readText } from "../../support/failure.ts";
import { faulty, isAlive } from "../../support/stdio-servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";
import { until } from "../../support/until.ts";

const { command, args } = faulty("ok");
const entry = (name: string, more: object = {}): object => ({ name, command, args: [...args], ...more });

function config(servers: readonly object[], plugins: readonly Plugin[] = []): LoadedConfig {
  return {
    preset: passthrough,
    plugins,
    options: {
      audit: { sink: memorySink() },
      cache: { enabled: false },
      sources: { servers },
    },
  } as LoadedConfig;
}

async function getPid(gateway: Gateway, server: string): Promise<number> {
  return JSON.parse(readText(await gateway.run({ tool: `${server}:process` }))).pid;
}

test("fault 74: a reload leaves unchanged servers as they are, and their calls, and restarts the changed ones", {
  timeout: 60_000,
}, async () => {
  const served = await serveGateway(config([entry("same"), entry("other")]));
  await served.gateway.services.servers?.settled();
  const before = { same: await getPid(served.gateway, "same"), other: await getPid(served.gateway, "other") };
  const running = served.gateway.run({ tool: "same:steps" });
  const next = config([entry("same"), entry("other", { env: { CHANGED: "1" } }), entry("new")]);
  await served.reload(next);
  expect((await running).ok).toBe(true);
  // Its tools are there at once: it need not be asked again.
  expect(served.gateway.catalog.tools("same").length).toBeGreaterThan(0);
  expect(await getPid(served.gateway, "same")).toBe(before.same);
  await served.gateway.services.servers?.settled();
  expect(await getPid(served.gateway, "other")).not.toBe(before.other);
  await until(() => !isAlive(before.other), 20_000);

  await served.reload(next);
  expect(await getPid(served.gateway, "same")).toBe(before.same);
  // Changes of its lists reach the catalog of the gateway that is served now.
  const { savedAt = 0 } = { savedAt: served.gateway.services.servers?.status("same")?.listedAt };
  await served.gateway.run({ tool: "same:change" });
  await until(() => (served.gateway.services.servers?.status("same")?.listedAt ?? 0) > savedAt, 20_000);

  await served.close({ drainMs: 0 });
  await until(() => !isAlive(before.same), 20_000);
});

test("fault 74: a reload that fails leaves the servers to the gateway that stays", async () => {
  const served = await serveGateway(config([entry("same")]));
  await served.gateway.services.servers?.settled();
  const before = await getPid(served.gateway, "same");
  const failing: Plugin = {
    name: "failing",
    order: "post",
    setup: () => ({
      start() {
        throw new Error("no");
      },
    }),
  };
  await expect(served.reload(config([entry("same")], [failing]))).rejects.toThrow();
  expect(await getPid(served.gateway, "same")).toBe(before);
});

test("a server whose env file has changed is restarted, though its definition is the same", async () => {
  const file = join(await temporaryFolder(), "server.env");
  await writeFile(file, "VALUE=1\n");
  const given = config([entry("same", { envFile: file })]);
  const served = await serveGateway(given);
  await served.gateway.services.servers?.settled();
  const before = await getPid(served.gateway, "same");
  await served.reload(given);
  expect(await getPid(served.gateway, "same")).toBe(before);
  await writeFile(file, "VALUE=2\n");
  await served.reload(given);
  expect(await getPid(served.gateway, "same")).not.toBe(before);
});
