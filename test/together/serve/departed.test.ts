import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { memorySink } from "../../../plugins/audit/mod.ts";
import { passthrough } from "../../../presets/passthrough.ts";
import { ask, serveGateway, until } from "../../plugins/serve/_http.ts";
import { getError, readText } from "../../support/failure.ts";
import { startServe } from "../../support/start-serve.ts";
import { faulty } from "../../support/stdio-servers.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

const CLIENTS = 20;

test("fault 68: calls that wait for a busy server are not made once their clients have left", async () => {
  const { command, args } = faulty("progress");
  const sink = memorySink();
  const begun: string[] = [];
  const { url, gateway } = await serveGateway({
    preset: passthrough,
    plugins: [{ name: "count", setup: () => ({ validate: ({ toolId }) => void begun.push(toolId) }) }],
    options: {
      audit: { sink },
      cache: { enabled: false },
      sources: { servers: [{ name: "one", command, args: [...args] }] },
      upstreams: { concurrency: 1 },
      timeout: { tools: { "one:wait": 1_000 } },
    },
  });
  await gateway.services.servers?.refresh();
  const pid = async (): Promise<unknown> =>
    JSON.parse(readText(await gateway.run({ tool: "one:process" }))).pid;
  const before = await pid();
  const busy = gateway.run({ tool: "one:wait" });
  const leaving = new AbortController();
  // Each of them ends the server, if it gets there.
  const left = Array.from({ length: CLIENTS }, () =>
    ask(url, "tools/call", { name: "exit" }, { signal: leaving.signal }),
  );
  await until(() => begun.filter((id) => id === "one:exit").length === CLIENTS);
  leaving.abort();
  await Promise.allSettled(left);
  const ended = (): unknown[] =>
    sink.records.flatMap(({ tool_id, event, outcome }) =>
      tool_id === "one:exit" && event !== "intent" ? [outcome] : [],
    );
  await until(() => ended().length === CLIENTS);
  expect(new Set(ended())).toEqual(new Set(["CANCELLED"]));
  expect(getError(await busy).code).toBe("TIMEOUT");
  expect(await pid()).toBe(before);
});

test("fault 69: a server that is still connecting does not delay the end", async () => {
  const folder = await temporaryFolder();
  const { command, args } = faulty("hanginit");
  const slow = { command, args, startTimeoutMs: 60_000 };
  const file = join(folder, "toolpipe.config.json");
  await writeFile(
    file,
    JSON.stringify({ preset: "anygpt", mcpServers: { slow }, options: { cache: { enabled: false } } }),
  );
  const serving = startServe(["--config", file]);
  await serving.request("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "t", version: "1" },
  });
  serving.write(
    JSON.stringify({
      jsonrpc: "2.0",
      id: 99,
      method: "tools/call",
      params: { name: "execute_tool", arguments: { server: "slow", tool: "echo", arguments: {} } },
    }),
  );
  // Answered in order, so the call has begun by then.
  await serving.request("ping");
  const began = performance.now();
  process.kill(serving.pid, "SIGTERM");
  await serving.exit;
  expect(performance.now() - began).toBeLessThan(8_000);
});

// Under /proc the system refuses a folder as if its parent were missing.
test.skipIf(process.platform !== "linux")(
  "fault 93: a state folder that cannot be created holds up neither calls nor the end",
  { timeout: 60_000 },
  async () => {
    const folder = await temporaryFolder();
    const { command, args } = faulty("ok");
    const file = join(folder, "toolpipe.config.json");
    const options = { sources: { clients: [] } };
    await writeFile(
      file,
      JSON.stringify({ preset: "anygpt", mcpServers: { one: { command, args } }, options }),
    );
    const serving = startServe(["--config", file], {
      env: { ...process.env, TOOLPIPE_HOME: "/proc/toolpipe" },
    });
    await serving.request("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    });
    const answer = await serving.request("tools/call", {
      name: "execute_tool",
      arguments: { server: "one", tool: "echo", arguments: { text: "hello" } },
    });
    expect(JSON.stringify(answer)).toContain("hello");
    const began = performance.now();
    process.kill(serving.pid, "SIGTERM");
    await serving.exit;
    expect(performance.now() - began).toBeLessThan(12_000);
  },
);
