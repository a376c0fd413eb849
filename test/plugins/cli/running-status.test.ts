import { expect, test } from "vitest";
import { faulty, place } from "../../support/place.ts";
import { runMain } from "../../support/run-cli.ts";
import { startServe } from "../../support/start-serve.ts";

const call = { name: "execute_tool", arguments: { server: "one", tool: "echo", arguments: { text: "a" } } };

test("list and config show count what running gateways of the same config are connected to", async () => {
  const { project } = await place({
    project: { "toolpipe.config.json": { mcpServers: { one: faulty(), two: faulty() } } },
  });
  await runMain(["list"]);
  const serving = startServe(["--config", "toolpipe.config.json"], { cwd: project });
  await serving.request("tools/call", call);
  // The gateway announces itself in the background.
  await expect
    .poll(async () => (await runMain(["config", "show"])).stdout, { timeout: 10_000 })
    .toContain("Servers: 2 configured, 1 connected\n");
  const { stdout } = await runMain(["list", "--json"]);
  expect(JSON.parse(stdout).servers).toMatchObject([
    { name: "one", status: "connected", reason: "A running gateway is connected to it." },
    { name: "two", status: "disconnected" },
  ]);
});

test("a gateway of another config counts for nothing", async () => {
  const { project } = await place({
    project: {
      "toolpipe.config.json": { mcpServers: { one: faulty() } },
      "other.json": { mcpServers: { one: faulty() } },
    },
  });
  await runMain(["list", "--config", "other.json"]);
  const serving = startServe(["--config", "toolpipe.config.json"], { cwd: project });
  await serving.request("tools/call", call);
  await expect
    .poll(async () => (await runMain(["config", "show"])).stdout, { timeout: 10_000 })
    .toContain("Servers: 1 configured, 1 connected\n");
  const show = async (file: string) => (await runMain(["config", "show", "--config", file])).stdout;
  expect(await show("other.json")).toContain("Servers: 1 configured, 0 connected\n");
});
