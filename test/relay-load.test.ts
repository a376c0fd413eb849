import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test, vi } from "vitest";
import { createGateway, type JsonObject } from "../core/mod.ts";
import { passthrough } from "../presets/passthrough.ts";
import { temporaryFolder } from "./_helpers/temporary-folder.ts";
import { until } from "./plugins/upstreams/_fixtures.ts";
import { clientOf, fixtureServer, type TestClient, textIn } from "./presets/_passthrough.ts";

const PATIENCE_MS = 60_000;
const loadServer = fileURLToPath(new URL("./fixtures/load-server.mjs", import.meta.url));

async function server(...args: string[]): Promise<{ readonly entry: JsonObject; readonly file: string }> {
  const file = join(await temporaryFolder(), "work.txt");
  await writeFile(file, "");
  return { entry: fixtureServer(loadServer, file, ...args), file };
}

function call(client: TestClient, name: string, text = ""): Promise<JsonObject> {
  return client.request("tools/call", { name, arguments: { text } });
}

test("of 32 callers at once, each gets its own answers", { timeout: PATIENCE_MS }, async () => {
  const { entry } = await server();
  const client = await clientOf("v2 legacy", { servers: { load: entry } });
  await Promise.all(
    Array.from({ length: 32 }, async (_, caller) => {
      for (let round = 0; round < 10; round++) {
        const text = `caller ${caller}, round ${round}`;
        expect(textIn(await call(client, "echo", text))).toBe(text);
      }
    }),
  );
});

test("a call that is under way when its server is killed fails and is not made again; the next one succeeds", {
  timeout: PATIENCE_MS,
}, async () => {
  const { entry, file } = await server();
  const client = await clientOf("v2 legacy", { servers: { load: entry } });
  const pid = Number(textIn(await call(client, "pid")));
  const working = call(client, "work", "once");
  await until(async () => (await readFile(file, "utf8")) !== "", PATIENCE_MS);
  process.kill(pid, "SIGKILL");
  const failed = await working;
  expect(failed["isError"]).toBe(true);
  expect(textIn(failed)).toContain("ended");
  const next = Number(textIn(await call(client, "pid")));
  expect(next).not.toBe(pid);
  expect(await readFile(file, "utf8")).toBe("once\n");
});

test("a server that hangs at its start, and one whose command is missing, cost the others nothing", {
  timeout: PATIENCE_MS,
}, async () => {
  const [good, hanging] = [await server(), await server("hanging")];
  const servers = {
    load: good.entry,
    hanging: { ...hanging.entry, startTimeoutMs: PATIENCE_MS },
    missing: { command: "toolpipe-no-such-command", args: [] },
  };
  vi.stubEnv("TOOLPIPE_HOME", await temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const gateway = await createGateway({
    preset: passthrough,
    options: { sources: { mcpServers: servers } },
  });
  onTestFinished(() => gateway.close());
  const settled = await gateway.run({ tool: "load:echo", args: { text: "still here" } });
  expect(settled).toMatchObject({ ok: true, result: { content: [{ text: "still here" }] } });
  const { upstreams } = gateway.services;
  // The other is still being waited for: it was given longer than all of this takes.
  expect(upstreams?.status("hanging")?.listedAt).toBeUndefined();
  expect(upstreams?.status("hanging")?.status).not.toBe("error");
  await until(() => upstreams?.status("missing")?.status === "error", PATIENCE_MS);
  expect(upstreams?.status("load")).toMatchObject({ status: "connected" });
});
