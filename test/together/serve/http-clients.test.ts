import { join } from "node:path";
import { StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { StreamableHTTPClientTransport as LegacyTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { afterEach, describe, expect, test, vi } from "vitest";
import { definePreset, loadConfig } from "../../../core/mod.ts";
import { demo } from "../../../plugins/demo.ts";
import type { HttpServer } from "../../../plugins/serve/mod.ts";
import { presets } from "../../../presets/mod.ts";
import { homeOfEverything, tellers, tellStory, type Way } from "../../plugins/serve/_client-story.ts";
import { preset, serveGateway, until, waiting } from "../../plugins/serve/_http.ts";

afterEach(() => void vi.unstubAllEnvs());

function to({ url }: HttpServer): Way {
  return {
    // The SDK's own transport does not fit its own interface under `exactOptionalPropertyTypes`.
    legacy: () => new LegacyTransport(new URL(url)) as Transport,
    modern: () => new ModernTransport(new URL(url)),
  };
}

describe.each(tellers)("a client %s", (_which, connect) => {
  test("finds and executes tools of a real server", async () => {
    const home = await homeOfEverything();
    vi.stubEnv("TOOLPIPE_HOME", join(home, "own"));
    const server = await serveGateway(
      await loadConfig({ presets, file: join(home, "toolpipe.config.json") }),
    );
    await tellStory(await connect(to(server)));
  }, 60_000);

  test("cancels a call, and can go on", async () => {
    const wait = waiting();
    const client = await connect(to(await serveGateway({ preset: preset([wait.tool]) })));
    const abort = new AbortController();
    const call = client.call("wait", {}, { signal: abort.signal });
    await until(() => wait.started === 1);
    abort.abort();
    await expect(call).rejects.toThrow();
    await until(() => wait.cancelled === 1);
    expect(await client.call("now", {})).toMatchObject({ content: [{ text: "done" }] });
  });

  test("hears that the list is another one", async () => {
    const server = await serveGateway({
      preset: definePreset({ name: "all", plugins: [] }),
      plugins: [demo()],
    });
    const client = await connect(to(server));
    expect(await client.tools()).toHaveLength(3);
    // A stream may be opened some time after the connection, and what came before is not told.
    let tools = 0;
    await until(() => {
      void server.gateway.catalog.replace({ id: `more-${tools}` }, [
        { name: `extra-${tools++}`, inputSchema: { type: "object" } },
      ]);
      return client.changes() > 0;
    });
    expect((await client.tools()).length).toBeGreaterThan(3);
  });
});
