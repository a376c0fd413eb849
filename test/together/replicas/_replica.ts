import { onTestFinished, vi } from "vitest";
import type { Gateway, GatewayError, JsonObject, Plugin } from "../../../core/mod.ts";
import { approvals } from "../../../plugins/approvals/mod.ts";
import { cache } from "../../../plugins/cache/mod.ts";
import { mcp } from "../../../plugins/mcp/mod.ts";
import { replicas } from "../../../plugins/replicas/mod.ts";
import { sources } from "../../../plugins/sources/mod.ts";
import { state } from "../../../plugins/state/mod.ts";
import { upstreams } from "../../../plugins/upstreams/mod.ts";
import { openGateway } from "../../support/open-gateway.ts";
import { temporaryFolder } from "../../support/temporary-folder.ts";

/** A replica within this process. */
export interface TestReplica {
  readonly gateway: Gateway;
  readonly errors: GatewayError[];
  /** The names of the tools it has of the server `s`. */
  tools(): string[];
}

/** Opens a replica until the test is over. */
export async function openReplica(url: string, server: JsonObject): Promise<TestReplica> {
  vi.stubEnv("TOOLPIPE_HOME", await temporaryFolder());
  onTestFinished(() => void vi.unstubAllEnvs());
  const errors: GatewayError[] = [];
  const listener: Plugin = {
    name: "listener",
    setup: () => ({ error: (error) => void errors.push(error) }),
  };
  const gateway = await openGateway(
    {
      configFile: "/etc/toolpipe.config.json",
      plugins: [
        listener,
        state({ state: url, timeoutMs: 10_000 }),
        approvals(),
        cache(),
        sources({ sources: [], mcpServers: { s: server } }),
        mcp(),
        upstreams({ useCache: true }),
        replicas(),
      ],
    },
    { drainMs: 0 },
  );
  return {
    gateway,
    errors,
    tools: () => gateway.catalog.tools("s").map(({ name }) => name),
  };
}
