import { expect, test } from "vitest";
import { approvals } from "../../plugins/approvals/mod.ts";
import { memoryStore } from "../../plugins/lib/memory-store.ts";
import { mcp } from "../../plugins/mcp/mod.ts";
import { sources } from "../../plugins/sources/mod.ts";
import { state } from "../../plugins/state/mod.ts";
import { upstreams } from "../../plugins/upstreams/mod.ts";
import { openGateway } from "../support/open-gateway.ts";
import { slowCatalog } from "../support/slow-catalog.ts";
import { faulty } from "../support/stdio-servers.ts";

test("a call waits until the listing of its server is in the catalog", async () => {
  const slow = slowCatalog();
  const { command, args } = faulty("ok");
  const gateway = await openGateway(
    {
      plugins: [
        state({ store: memoryStore() }),
        approvals(),
        sources({ mcpServers: { words: { command, args } } }),
        mcp(),
        upstreams(),
        slow.plugin,
      ],
    },
    { drainMs: 0 },
  );
  await expect.poll(slow.isReached, { timeout: 20_000 }).toBe(true);
  expect(gateway.services.servers?.status("words")?.listedAt).toBeDefined();
  expect(gateway.catalog.tools("words")).toEqual([]);
  const call = gateway.run({ tool: "words:echo", args: { text: "hello" } });
  await new Promise((resolve) => setTimeout(resolve, 50));
  slow.go();
  expect(await call).toMatchObject({ ok: true });
});
